"""Checks of lab 05b: autocast by lists, a whole step, a product in 8 bits."""
