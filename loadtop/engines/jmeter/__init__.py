"""JMeter as an engine: one process here or, by SSH, on each machine, and its results as they come."""
