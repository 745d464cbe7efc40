"""Checks of lab 04."""
