"""Checks of lab 09: all-reduce in two levels, ranks started by Slurm, training to interrupt."""
