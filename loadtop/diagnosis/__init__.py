"""From measured frames to the limit: one file per resource."""
