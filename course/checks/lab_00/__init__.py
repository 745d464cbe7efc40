"""Checks of lab 00."""
