"""Keys, marks, and what compaction keeps."""
