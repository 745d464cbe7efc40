"""Checks of lab 04c: results that were wrong, and instruments that notice."""
