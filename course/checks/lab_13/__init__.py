"""Checks of lab 13: attention of a sequence that is split over ranks, and the loss of its parts."""
