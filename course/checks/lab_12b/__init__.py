"""Checks of lab 12b: replicas that come and go agree on who is there, and on common weights."""
