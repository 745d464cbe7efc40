"""What runs the checks of a lab: finds them, starts their ranks, collects what they found."""
