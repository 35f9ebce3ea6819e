"""What every coordinator runs on: its records and log, partitions, eras, error codes, loading."""
