"""How files and pages come from a machine: near, or over SSH."""
