"""Committed offsets: commit, fetch, expire, delete; their place in their logs, and the lag."""
