"""Checks of lab 03: a script made distributed, and DistributedDataParallel written by hand."""
