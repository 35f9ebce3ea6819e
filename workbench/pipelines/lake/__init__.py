"""Load logs into a table of a lake: exactly once, and only what is new."""
