"""Checks of lab 04: snapshots, and a trainer that continues from them."""
