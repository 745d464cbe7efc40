"""Checks of lab 07: four strategies behind one interface, three synchronous and one not."""
