"""Findings for people and programs, as text, JSON and a picture; the options of the questions."""
