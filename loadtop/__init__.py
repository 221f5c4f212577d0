"""Load-test Apache in the terminal and see what is the limit."""

__version__ = "0.1.0"
