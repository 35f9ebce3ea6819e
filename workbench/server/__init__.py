"""Serve the logs of a directory to Kafka's clients, read-only: nothing on the disk is touched."""
