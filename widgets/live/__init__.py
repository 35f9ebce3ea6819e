"""Follow directories that a broker writes: looks in a thread, and what they found."""
