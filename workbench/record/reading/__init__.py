"""From bytes to batches and records: windows, batch tables, decoding, resynchronization."""
