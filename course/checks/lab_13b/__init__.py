"""Checks of lab 13b: experts on several ranks."""
