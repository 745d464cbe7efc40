"""Checks of lab 04d: a stream of files that ranks and loader workers share."""
