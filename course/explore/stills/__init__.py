"""Drawings that do not move, for images/."""
