"""HAProxy: statistics from its socket or page, and where its configuration sends requests."""
