"""nginx: its configuration, its stub_status page."""
