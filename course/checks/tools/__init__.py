"""What those who write checks use: calls recorded and forbidden, references, memory, hints."""
