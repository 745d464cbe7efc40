"""Why a run cannot go on, or has failed: plain data of all ranks in, findings out."""
