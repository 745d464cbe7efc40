"""The page try_ring: several ranks in one Python interpreter, in a visitor's browser.

Every module except `trial`, which writes the page, runs there and imports only `drawing` of the
course.
"""
