"""The arithmetic behind each explorable: plain Python that draws nothing."""
