"""Recordings: writing, reading, summing up."""
