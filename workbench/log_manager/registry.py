"""The logs of a log manager: current, moving in (future), stray, and waiting to be deleted.

Kafka: the maps of LogManager (4.2)
"""

import threading
from collections.abc import Iterator
from functools import lru_cache

from workbench.errors import WorkbenchError
from workbench.files.names import TopicPartition, parse_directory_name
from workbench.log.log import Log

PartitionName = TopicPartition | str
"""A partition, or the name of its folder: ``"orders-0"``."""


class DuplicateLogError(WorkbenchError, RuntimeError):
    """Two log directories hold a log of the same partition; a broker does not start with them.

    Kafka: the IllegalStateException of LogManager.loadLog (4.2)
    """


class LogRegistry:
    """The logs by partition. Threads may share it; `lock` is held while logs come and go.

    Attributes:
        current: the served logs.
        future: copies moving in from another directory.
        stray: logs renamed to `-stray` because they belong to no known topic.
        lock: to be held while one of the maps is changed in more than one step.
    """

    def __init__(self) -> None:
        self.current: dict[TopicPartition, Log] = {}
        self.future: dict[TopicPartition, Log] = {}
        self.stray: dict[TopicPartition, Log] = {}
        self.lock = threading.RLock()

    def __iter__(self) -> Iterator[Log]:
        """Yield current and future logs, as they were at the call."""
        return iter([*self.current.values(), *self.future.values()])

    def get(self, topic_partition: TopicPartition, *, is_future: bool = False) -> Log | None:
        """Return a log; None if there is none."""
        return self._map(is_future).get(topic_partition)

    def put(self, log: Log) -> None:
        """Add a log that was loaded.

        Raises:
            DuplicateLogError: there is already a log of the same partition and kind.

        Kafka: LogManager.loadLog (4.2)
        """
        with self.lock:
            logs = self._map(log.is_future)
            before = logs.setdefault(log.topic_partition, log)
        if before is not log:
            raise DuplicateLogError(
                f"{log.topic_partition}: duplicate log directories {log.directory} and "
                f"{before.directory}; delete one of them, the one whose disk failed last"
            )

    def replace(self, log: Log, *, is_future: bool = False) -> None:
        """Add a log, or replace another with it."""
        with self.lock:
            self._map(is_future)[log.topic_partition] = log

    def pop(self, topic_partition: TopicPartition, *, is_future: bool = False) -> Log | None:
        """Remove a log and return it; None if there is none."""
        with self.lock:
            return self._map(is_future).pop(topic_partition, None)

    def pop_directory(self, path: str) -> list[Log]:
        """Remove and return the logs of a log directory."""
        found = []
        with self.lock:
            for logs in (self.current, self.future, self.stray):
                gone = [p for p, log in logs.items() if log.parent_directory == path]
                found += [logs.pop(partition) for partition in gone]
        return found

    def of_topic(self, topic: str) -> list[Log]:
        """Return the current and future logs of a topic."""
        return [log for log in self if log.topic_partition.topic == topic]

    def by_directory(self) -> dict[str, dict[TopicPartition, Log]]:
        """Return current and future logs by log directory, which never has both of a partition."""
        found: dict[str, dict[TopicPartition, Log]] = {}
        for log in self:
            found.setdefault(log.parent_directory, {})[log.topic_partition] = log
        return found

    def _map(self, is_future: bool) -> dict[TopicPartition, Log]:  # noqa: FBT001 - one private use
        return self.future if is_future else self.current


@lru_cache(maxsize=1 << 12, typed=True)  # True is not a partition's number, 1 is
def partition_of(name: PartitionName, number: int | None = None) -> TopicPartition:
    """Parse a partition's name.

    Args:
        name: the partition, its folder's name, or with a ``number`` the topic.
        number: the partition's number.

    Raises:
        ValueError: the name is not of the form topic-partition.
    """
    if isinstance(name, TopicPartition):
        return name
    if number is not None:
        return TopicPartition(name, number)
    parsed = parse_directory_name(name)
    if parsed is None or parsed.kind != "log":
        raise ValueError(f"{name!r} is not of the form topic-partition")
    return TopicPartition(parsed.topic, parsed.partition)
