"""JMeter as an engine. It runs as separate processes."""
