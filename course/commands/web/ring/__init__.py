"""The page try_ring: several ranks in one Python, in a visitor's browser, without processes.

All but `trial`, which writes the page, runs there, and imports of the course only `drawing`.
"""
