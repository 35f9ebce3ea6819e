"""Records as Arrow batches: planned, pruned, decoded, handed over."""
