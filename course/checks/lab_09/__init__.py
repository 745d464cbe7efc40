"""Checks of lab 09."""
