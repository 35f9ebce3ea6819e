"""The engine behind a server that may write: its logs, topics, groups and transactions."""
