"""What became of the offsets of a log: records, gaps and their reasons, and what consumers get."""
