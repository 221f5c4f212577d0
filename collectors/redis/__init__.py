"""Redis: what INFO says, over its own protocol."""
