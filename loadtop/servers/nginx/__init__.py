"""nginx as a kind of server."""
