"""Checks of lab 06."""
