"""Every byte of a batch with its name."""
