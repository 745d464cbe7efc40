"""Watch every process of a command: what each thread is doing, and which collectives it calls."""
