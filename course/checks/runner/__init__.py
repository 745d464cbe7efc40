"""Run the checks of a lab: find them, start their ranks, collect their results."""
