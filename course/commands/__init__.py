"""The commands of ``python -m course``: NAME.py is the command NAME, NAME_*.py are parts of it.

The questions about your own script, such as `why`, are in `course.diagnostics.terminal`.
"""
