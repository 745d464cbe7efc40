"""Checks of lab 10: optimizer state and gradients sharded by hand."""
