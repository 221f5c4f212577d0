"""A machine or a container to which a command of the user leads."""
