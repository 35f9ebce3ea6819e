"""The checks of `verify`, one module per question."""
