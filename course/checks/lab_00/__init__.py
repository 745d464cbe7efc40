"""Checks of lab 00: the smallest exercise, and two collectives made of others."""
