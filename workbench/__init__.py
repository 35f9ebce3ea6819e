"""Open a Kafka log directory in Python and see what is in it, without a broker."""
