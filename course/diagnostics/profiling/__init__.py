"""On a rank: how long each part of a step takes, as plain data, a file for each rank."""
