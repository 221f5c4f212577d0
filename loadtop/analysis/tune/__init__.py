"""Finding the knee: a sweep over concurrencies, when a step is steady, which step comes next, and what to set then."""
