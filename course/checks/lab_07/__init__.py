"""Checks of lab 07: two synchronous strategies behind one interface."""
