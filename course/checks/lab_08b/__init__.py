"""Checks of lab 08b: the cures of three slow trainings."""
