"""The parts of `grade`: who handed in what, the verdicts, and the pages about them."""
