"""Findings for people and programs: as text, as JSON, as a picture."""
