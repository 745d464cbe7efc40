"""Checks of lab 12: local SGD, DiLoCo, and hooks that compress."""
