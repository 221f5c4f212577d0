"""uWSGI as a kind of server."""
