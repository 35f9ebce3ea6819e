"""Verify log directories, logs, segments and every kind of file in them, without writing."""
