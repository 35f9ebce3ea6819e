"""What runs on the driver: partitions, offsets, times, pieces of segments."""
