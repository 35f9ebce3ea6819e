"""What every coordinator runs on: the log that it writes, records, error codes, loading."""
