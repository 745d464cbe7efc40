"""Checks of lab 04e: runs that were wrong without a sign, cured."""
