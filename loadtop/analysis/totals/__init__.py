"""A whole test in figures: added up moment by moment, live or from a recording."""
