"""Jupyter widgets that show what is in a Kafka log directory."""
