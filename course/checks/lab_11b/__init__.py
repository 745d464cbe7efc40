"""Checks of lab 11b: the schedules of a pipeline."""
