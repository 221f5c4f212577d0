"""PostgreSQL as a kind of server."""
