"""From samples to one snapshot per interval, and to anyone who takes it."""
