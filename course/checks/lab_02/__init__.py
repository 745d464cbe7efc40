"""Checks of lab 02: all-reduces made of single messages."""
