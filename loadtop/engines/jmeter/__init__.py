"""JMeter as an engine. It runs as processes of its own."""
