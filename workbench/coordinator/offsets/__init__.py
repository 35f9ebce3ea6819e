"""The offset manager: offsets are committed, fetched, expire, and are deleted with their groups."""
