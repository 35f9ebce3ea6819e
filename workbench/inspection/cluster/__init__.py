"""The state of a KRaft cluster at any offset or time, folded from its metadata log."""
