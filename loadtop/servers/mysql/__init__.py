"""MySQL and MariaDB as a kind of server."""
