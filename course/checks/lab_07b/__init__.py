"""Checks of lab 07b: a training script converted to several ranks is still the same training."""
