"""On a rank: see what a script does, and write it down as plain data, a file for each rank."""
