"""Checks of lab 03."""
