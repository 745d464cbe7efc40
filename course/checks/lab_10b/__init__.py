"""Checks of lab 10b: weights sharded by hand, and the norm of their gradients."""
