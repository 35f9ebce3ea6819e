"""What is served of a directory: topics, partitions, and the records that can be read."""
