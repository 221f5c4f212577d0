"""gunicorn as a kind of server."""
