"""Checks of lab 05: master weights, a loss scaler, autocast by lists, a whole step."""
