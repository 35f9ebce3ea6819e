"""Avro's binary encoding as Arrow columns, without another package."""
