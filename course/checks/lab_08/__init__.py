"""Checks of lab 08."""
