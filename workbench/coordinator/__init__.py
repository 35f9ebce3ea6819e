"""What Kafka's coordinators keep: committed offsets, groups of every kind, transactional ids.

Partitions of `__consumer_offsets` and `__transaction_state` are loaded as a broker loads them when
it becomes their leader, and the loaded state answers: from directories, without writing
(`groups.stored_groups`, `transactions.stored_transactions`), or on the logs of a log manager, which
requests change (`group_coordinator`, `transaction_coordinator`). Both have the same groups and
transactions: one class of each, as in Kafka.
What a damaged directory needs before a broker serves on is planned by `repair`.
"""
