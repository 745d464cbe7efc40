"""Checks of lab 04: snapshots, a trainer that goes on from them, and the cures of the clinic."""
