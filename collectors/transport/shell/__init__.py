"""A POSIX shell loop that reads a machine without installing anything: its scripts, orders and answers."""
