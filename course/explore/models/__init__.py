"""The arithmetic behind each explorable: plain Python, nothing drawn."""
