"""Scripts that behave on warm ranks as they do in a terminal."""
