"""Replication of partitions: leader, followers, in-sync replicas, high watermark, leader epochs."""
