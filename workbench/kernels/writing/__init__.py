"""Records into bytes, and the checks of an append."""
