"""Checks of lab 08: a benchmark to trust, what it says of scaling, and a prediction."""
