"""Other engines than the built-in generator: any command in a pseudo-terminal, Locust and JMeter on many machines."""
