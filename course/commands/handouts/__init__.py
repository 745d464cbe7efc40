"""The parts of `kit`: an edition for students, slides, and files for nbgrader and Gradescope."""
