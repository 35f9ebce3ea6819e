"""Questions about a log directory. Nothing here writes, locks, or raises on bad bytes."""
