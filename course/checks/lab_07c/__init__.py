"""Checks of lab 07c: a parameter server, which does not wait for its workers."""
