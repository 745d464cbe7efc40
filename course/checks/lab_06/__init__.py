"""Checks of lab 06: negotiation by name, tensor fusion, one state for all, the optimizer."""
