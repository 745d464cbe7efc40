"""Find in the data of all ranks whether they compute what they should, and make a table."""
