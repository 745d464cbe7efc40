"""Checks of lab 01: DataParallel from its four primitives, and the loss inside forward."""
