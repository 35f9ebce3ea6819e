"""Records for compaction: records located in place, keys, rewritten batches."""
