"""How a broker and its topics are configured: names, defaults, limits, values."""
