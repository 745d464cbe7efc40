"""Checks of lab 11: layers, a vocabulary and a pipeline, split over ranks."""
