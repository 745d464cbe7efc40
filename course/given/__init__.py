"""Code that the labs give you whole, so that you write only the idea."""
