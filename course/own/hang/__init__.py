"""Why can a run not go on, or why has it failed? Data of all ranks become findings."""
