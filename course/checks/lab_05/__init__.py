"""Checks of lab 05: master weights and a loss scaler."""
