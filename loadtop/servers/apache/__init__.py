"""Apache as a kind of server."""
