"""The cockpit: the terminal user interface."""
