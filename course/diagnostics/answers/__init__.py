"""Show findings to people and programs as text, JSON and a picture; parse the tools' options."""
