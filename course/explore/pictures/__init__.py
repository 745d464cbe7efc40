"""One state of each explorable as a drawing, with its controls; each file draws one model."""
