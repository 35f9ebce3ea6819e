"""What Kafka's coordinators keep: committed offsets, groups of every kind, transactional ids.

The reading half: partitions of `__consumer_offsets` and `__transaction_state` are loaded as a
broker loads them when it becomes their leader, and the loaded state answers. The writing half runs
on the logs of a log manager: offsets, classic groups and transactions are served as by a broker.
"""
