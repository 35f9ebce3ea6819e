"""Compare the logs of several brokers of one cluster, offline: who is ahead, and what is lost."""
