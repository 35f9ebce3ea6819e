"""From the bytes of a key or value to something a person can read."""
