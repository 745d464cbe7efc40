"""Checks of lab 11c: the gradients of a mesh."""
