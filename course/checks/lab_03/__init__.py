"""Checks of lab 03: a script made distributed, and a DDP by hand that sends after backward."""
