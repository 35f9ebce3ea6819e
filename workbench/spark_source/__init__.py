"""Spark's data sources over log directories: options, planning on the driver, reading in tasks."""
