"""Redis as a kind of server."""
