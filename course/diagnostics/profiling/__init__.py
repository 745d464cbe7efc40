"""On a rank: measure how long each part of a step takes, as plain data in one file per rank."""
