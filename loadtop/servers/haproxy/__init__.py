"""HAProxy as a kind of server."""
