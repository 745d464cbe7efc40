"""The drawing of each explorable, with its controls; each file draws the model of its name."""
