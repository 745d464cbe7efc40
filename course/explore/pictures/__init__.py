"""One state of each explorable as a drawing; each file draws the model of its name."""
