"""A server of its own and a load on it, to see everything without any setup."""
