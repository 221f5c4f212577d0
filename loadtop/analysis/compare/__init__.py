"""Runs side by side: what differs between them, in which direction, and whether that is more than chance."""
