"""Checks of lab 04b: the cures of the clinic's runs."""
