"""Do the ranks compute what they should? Data of all ranks become findings and a table."""
