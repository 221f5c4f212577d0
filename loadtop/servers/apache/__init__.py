"""Apache: mod_status, worker slots."""
