"""The reader in Java, and the planner that answers its questions."""
