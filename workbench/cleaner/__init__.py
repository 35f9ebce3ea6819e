"""Compaction: which records of a log stay, why, and the segments that hold them afterwards."""
