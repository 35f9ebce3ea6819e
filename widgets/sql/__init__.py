"""SQL over log directories, and its result as a table."""
