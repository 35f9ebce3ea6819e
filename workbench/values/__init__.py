"""Keys and values as Arrow columns: formats, the schemas they need, and masks."""
