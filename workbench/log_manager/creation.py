"""Create a log in the preferred directory, or in the one with the fewest partitions.

Kafka: LogManager.getOrCreateLog, createLogDirectory, nextLogDirs (4.2)
"""

import os
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from workbench.config.internal_topics import RESERVED_IDS
from workbench.errors import InconsistentTopicIdError, LogDirectoryError, StorageError
from workbench.files.names import TopicPartition, directory_name, partition_problem
from workbench.log.log import Log
from workbench.log_manager.context import ManagerContext
from workbench.log_manager.identity import random_uuid
from workbench.log_manager.opening import open_log


class LogCreation:
    """Creates logs, and remembers the preferred directories of partitions."""

    def __init__(self, context: ManagerContext) -> None:
        self._context = context
        self._preferred: dict[TopicPartition, str] = {}
        self._chosen_ids: dict[str, UUID] = {}  # by topic, until a log of it has the id

    def prefer(self, topic_partition: TopicPartition, path: str) -> None:
        """Prefer a directory for a partition's next log, unless it has one there.

        Kafka: LogManager.maybeUpdatePreferredLogDir (4.2)
        """
        registry = self._context.registry
        for is_future in (False, True):
            log = registry.get(topic_partition, is_future=is_future)
            if log is not None and log.parent_directory == path:
                return
        self._preferred[topic_partition] = path

    def get_or_create(
        self,
        topic_partition: TopicPartition,
        *,
        is_new: bool,
        is_future: bool,
        topic_id: UUID | None,
        directory_id: UUID | None,
    ) -> Log:
        """Return a partition's log, created if necessary; see `LogManager.get_or_create_log`."""
        registry = self._context.registry
        with registry.lock:
            log = registry.get(topic_partition, is_future=is_future)
            if log is None:
                if not is_new and self._context.offline:
                    raise StorageError(
                        ", ".join(self._context.offline),
                        f"offline, and may hold {topic_partition}: it is not created again",
                    )
                log = self._create(topic_partition, is_future, topic_id, directory_id)
            if topic_id is None and log.topic_id is None and log.log_end_offset == 0:
                topic_id = self._topic_id(topic_partition.topic)  # a crash interrupted its creation
            if topic_id is not None and log.topic_id is None:
                self._chosen_ids[topic_partition.topic] = topic_id
        if topic_id is not None and log.topic_id is None:
            # Without the registry's lock: a thread that has the log's may wait for it.
            log.assign_topic_id(topic_id)
            with registry.lock:
                self._chosen_ids.pop(topic_partition.topic, None)
        elif topic_id is not None and topic_id != log.topic_id:
            raise InconsistentTopicIdError(
                f"{log.directory}: the topic id is wrong "
                f"(found {log.topic_id}, expected {topic_id})"
            )
        return log

    def _create(
        self,
        topic_partition: TopicPartition,
        is_future: bool,  # noqa: FBT001 - private
        topic_id: UUID | None,
        directory_id: UUID | None,
    ) -> Log:
        if (problem := partition_problem(*topic_partition)) is not None:
            raise ValueError(problem)
        context = self._context
        preferred = self._preferred_directory(topic_partition, directory_id)
        if is_future:
            self._check_future(topic_partition, preferred)
        unique = f"{context.rng.getrandbits(128):032x}" if is_future else None
        name = directory_name(*topic_partition, "future" if is_future else "log", unique)
        tried = [preferred] if preferred is not None else self._by_fewest_logs()
        folder = self._make_folder(tried, name)
        topic_id = self._topic_id(topic_partition.topic) if topic_id is None else topic_id
        try:
            with context.failures.guard(
                os.path.dirname(folder), f"create {name}", changes_nothing=True
            ):
                log = open_log(context, folder, topic_partition, topic_id=topic_id)
        except OSError as error:  # a lack of descriptors; the next try opens what is there
            raise StorageError(folder, f"cannot be created now: {error}") from error
        if context.commits_appends:
            log.commit()  # the folder may have existed
        context.registry.replace(log, is_future=is_future)
        if is_future and context.cleaning is not None:
            context.cleaning.abort_cleaning(
                topic_partition
            )  # and no cleaning begins while it is copied
        self._preferred.pop(topic_partition, None)
        context.tell("log created", topic_partition, directory=folder)
        return log

    def _topic_id(self, topic: str) -> UUID | None:
        """Return the id of a topic's other partitions, or a random one for a new topic.

        The caller must hold the registry's lock. In Kafka a controller assigns the ids. A broker
        without ZooKeeper renames a log without an id to `-stray`; one with ZooKeeper may have
        topics without ids.
        """
        logs = self._context.registry.of_topic(topic)
        for log in logs:
            if log.topic_id is not None:
                return log.topic_id
        if logs and topic in self._chosen_ids:
            return self._chosen_ids[topic]
        return random_uuid(self._context.rng) if self._context.is_kraft else None

    def _preferred_directory(
        self, topic_partition: TopicPartition, directory_id: UUID | None
    ) -> str | None:
        preferred = self._preferred.get(topic_partition)
        if preferred is not None or directory_id is None or directory_id.int < RESERVED_IDS:
            return preferred
        ids = self._context.directory_ids.items()
        return next((path for path, id_ in ids if id_ == directory_id), None)

    def _check_future(self, topic_partition: TopicPartition, preferred: str | None) -> None:
        if preferred is None:
            raise ValueError(f"{topic_partition}: no directory to move it to was named")
        current = self._context.registry.get(topic_partition)
        if current is None:
            raise LookupError(f"{topic_partition}: there is no log to move")
        if current.parent_directory == preferred:
            raise ValueError(f"{topic_partition}: its log is already in {preferred}")

    def _by_fewest_logs(self) -> list[str]:
        """Return the live directories, that with the fewest logs first."""
        counts = Counter(log.parent_directory for log in self._context.registry)
        return sorted((d.path for d in self._context.live), key=lambda path: counts[path])

    def _make_folder(self, tried: Sequence[str], name: str) -> str:
        """Create a folder in the first directory where that works, and return its path."""
        context = self._context
        for path in tried:
            if path not in context.directories:
                raise LogDirectoryError(path, "not a log directory of this manager")
            folder = os.path.join(path, name)
            try:
                with context.failures.guard(path, f"create {name}"):
                    if not context.fs.exists(folder):
                        context.fs.make_directory(folder)
                        context.fs.sync_directory(path)
            except StorageError:
                continue
            return folder
        raise StorageError(", ".join(tried), f"offline: {name} cannot be created")
