"""Find in the data of all ranks why a run cannot go on, or why it has failed."""
