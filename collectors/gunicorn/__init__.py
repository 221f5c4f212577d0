"""gunicorn: its processes, its command line, and the connections at its sockets."""
