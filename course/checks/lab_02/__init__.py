"""Checks of lab 02."""
