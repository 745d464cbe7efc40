"""Judge from the reports of all ranks whether they compute what they should, and make a table."""
