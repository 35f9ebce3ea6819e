"""SQL over log directories: what a query names and reads, its result, what an error means."""
