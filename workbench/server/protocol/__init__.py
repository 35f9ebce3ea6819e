"""Kafka's protocol: frames, headers, and every request that is answered."""
