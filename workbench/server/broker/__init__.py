"""The engine of a server that may write: its logs, topics, groups and transactions."""
