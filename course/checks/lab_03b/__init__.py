"""Checks of lab 03b: a DDP by hand that sends its gradients during backward."""
