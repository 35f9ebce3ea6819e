"""Compaction: which records of a log are kept, why, and the segments that hold them afterwards."""
