"""Checks of lab 09: all-reduce in two levels."""
