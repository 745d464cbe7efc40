"""Why does a step take so long? Data of all ranks become causes."""
