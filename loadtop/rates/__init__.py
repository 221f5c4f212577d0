"""What is computed from two samples of the same thing: rates, shares, and the metrics that read them."""
