"""Checks of the learner's code: plain pytest, run on real ranks through the course's launcher.

One module a lab (``check_NN_name.py``), one class an exercise. A class names the script it checks in `exercise`; the
docstring of each test says what holds when it passes, and `hint` what to think about when it does not.
"""
