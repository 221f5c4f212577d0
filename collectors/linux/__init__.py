"""One module per source of a Linux kernel: which files to read, and a pure parse of their texts."""
