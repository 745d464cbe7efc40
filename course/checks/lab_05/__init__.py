"""Checks of lab 05."""
