"""Tiered storage (KIP-405): the remote segments of a partition, from their metadata to bytes."""
