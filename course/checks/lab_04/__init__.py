"""Checks of lab 04: snapshots, a trainer that continues from them, and the cures of the clinic."""
