"""Find in the data of all ranks why a run is stuck or has failed."""
