"""Load-test web servers in the terminal and see which resource limits throughput."""

__version__ = "0.1.0"
