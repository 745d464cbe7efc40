"""Checks of lab 06: one state for all, the optimizer."""
