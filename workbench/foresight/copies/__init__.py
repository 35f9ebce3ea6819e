"""Recovery, retention and compaction on a copy of a log directory."""
