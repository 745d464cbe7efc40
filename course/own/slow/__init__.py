"""Why a step takes the time that it takes: plain data of all ranks in, causes out."""
