"""What runs in a task: pieces of segments to Arrow batches for Spark."""
