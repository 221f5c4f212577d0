"""Other engines than the built-in generator: any command in a pseudo-terminal, and the distributed engines we drive."""
