"""What `grade` is made of: who handed in what, the verdicts on it, and the pages about it."""
