"""The engine's steps, one after the other: writing, recovery, retention, lookups."""
