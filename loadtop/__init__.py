"""Load-test web servers in the terminal and see what limits their throughput."""

__version__ = "0.1.0"
