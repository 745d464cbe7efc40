"""Checks of lab 05: master weights, loss scaler, autocast by lists, a whole step, a checkpoint."""
