"""Verify log directories, logs, segments and every kind of file in them, without writing.

The room has one module for each kind of file or fact that is checked, and so more than fifteen.
"""
