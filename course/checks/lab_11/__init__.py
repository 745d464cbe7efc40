"""Checks of lab 11: layers and a vocabulary, split over ranks."""
