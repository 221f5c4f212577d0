"""From samples to one snapshot per interval, and to whoever takes it."""
