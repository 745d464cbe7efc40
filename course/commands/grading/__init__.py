"""The parts of `grade`: who handed in what, the verdicts on it, and the pages about it."""
