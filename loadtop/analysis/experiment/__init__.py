"""Experiments: variants of a server times load steps, written down in a PLAN, measured cell by cell."""
