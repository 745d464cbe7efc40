"""Checks of lab 01."""
