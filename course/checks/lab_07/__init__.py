"""Checks of lab 07: three synchronous strategies behind one interface."""
