"""The data of the labs: embedded sets that need no download, and real ones by name or folder."""
