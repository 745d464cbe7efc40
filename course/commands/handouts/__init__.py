"""What `kit` writes: an edition for students, and what nbgrader and other graders read."""
