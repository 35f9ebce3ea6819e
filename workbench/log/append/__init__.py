"""The way of an append: checks, offsets, write, producer state."""
