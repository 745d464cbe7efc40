"""In every process of a watched command: where it stands, and which collectives it calls."""
