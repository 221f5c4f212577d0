"""Reads machines: one metric source per file."""
