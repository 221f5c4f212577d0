"""Reads machines and the servers on them."""
