"""What runs in a visitor's browser: several ranks in one interpreter, without processes.

It imports nothing but Python's own library and the room `drawing`, so that Pyodide can run it.
"""
