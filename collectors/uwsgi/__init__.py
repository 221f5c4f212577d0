"""uWSGI: what its stats server says, and where that is configured."""
