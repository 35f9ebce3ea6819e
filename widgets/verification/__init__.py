"""What was verified of opened directories, and what was found; several widgets show it."""
