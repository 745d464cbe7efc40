"""The page try_ring: several ranks in one Python, in a visitor's browser, without processes.

Every module except `trial`, which writes the page, runs there and imports only `drawing` of the
course.
"""
