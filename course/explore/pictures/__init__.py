"""The drawing and the controls of each explorable, in a file named after its model."""
