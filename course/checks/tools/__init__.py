"""Tools for writing checks: record or forbid calls, compare with references, find leaks."""
