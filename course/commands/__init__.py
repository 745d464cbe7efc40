"""The commands of ``python -m course``, a file for each."""
