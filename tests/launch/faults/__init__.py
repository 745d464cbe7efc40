"""Faults that a launch must survive."""
