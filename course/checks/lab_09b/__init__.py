"""Checks of lab 09b: ranks started by Slurm, training to interrupt."""
