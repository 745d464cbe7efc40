"""Checks of lab 07."""
