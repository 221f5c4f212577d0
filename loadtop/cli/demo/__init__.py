"""A private server and a load on it, to see everything without any setup."""
