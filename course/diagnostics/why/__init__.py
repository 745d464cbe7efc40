"""Find out, from the reports of all ranks, why a step takes as long as it does."""
