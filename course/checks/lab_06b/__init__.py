"""Checks of lab 06b: negotiation by name, tensor fusion."""
