"""What is computed over a whole test or several: totals, comparison, tuning, experiments, pass and fail rules."""
