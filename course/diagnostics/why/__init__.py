"""Find in the data of all ranks why a step takes the time that it takes."""
