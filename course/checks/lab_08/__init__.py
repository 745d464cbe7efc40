"""Checks of lab 08: a benchmark to trust, what kind of loss it shows, and a prediction."""
