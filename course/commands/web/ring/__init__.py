"""What runs in a visitor's browser: several ranks in one interpreter, without processes.

Of the course it imports only the room `drawing`, so that Pyodide has all it needs.
"""
