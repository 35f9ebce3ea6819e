"""Recover, compact and apply retention: to a copy of a log directory, or to the directory itself.

`wb.recover`, `wb.compact` and `wb.retain`, and the commands of these names, use this module.
"""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Self

from workbench.config.settings import Settings
from workbench.errors import OutputError
from workbench.file_system.archives.opening import is_here
from workbench.file_system.dry import DryFileSystem
from workbench.file_system.local import LOCAL
from workbench.file_system.outputs import (
    is_unchanged,
    refuse_inputs,
    remove_folder,
    require_unchanged,
)
from workbench.file_system.source import Files
from workbench.files.names import TopicPartition
from workbench.foresight.copies.compacting import Compaction, compact_directory
from workbench.foresight.copies.copying import SkippedFile, copy_log_directory
from workbench.foresight.copies.repair import Recovery, recover_directory
from workbench.foresight.copies.retaining import Retention
from workbench.foresight.copies.retaining import retain as retain_directory
from workbench.foresight.dry_listing import meant_settings, round_times
from workbench.inspection.broker_version import MeantBroker
from workbench.inspection.listing import StrPath, list_log_directories, require_logs
from workbench.loaders.in_hand import InHand, one_path
from workbench.loaders.partition import Config
from workbench.loaders.read_warnings import warn_caller
from workbench.loaders.remote import opened
from workbench.loaders.scan.plan import are_named, chosen_names
from workbench.log_manager.loading import Progress
from workbench.runtime.several import Names, Partitions, several
from workbench.runtime.signatures import explained
from workbench.runtime.times import Time, time_or_now


class NotCopiedWarning(UserWarning):
    """A copy of a log directory leaves out a link, a FIFO or a device."""


@explained
def recover(
    path: InHand,
    to: StrPath | None = None,
    *,
    in_place: bool = False,
    topics: Names = None,
    partitions: Partitions = None,
    config: Config = None,
    everything: bool = False,
    now: Time | None = None,
    kafka: str | None = None,
) -> Recovery:
    """Recover a copy of a log directory as a starting broker does, and shut it down cleanly.

        recovery = recover("sample_data/shop-4.3.1", "recovered")

    Args:
        path: the log directory, or a partition directory; also a URI or an archive, or what was
            opened.
        to: the copy, missing or empty. After an error there is none.
        in_place: change the directory itself instead; this cannot be undone.
        topics, partitions: names of topics; numbers of partitions, or names such as ``"orders-0"``:
            the copy has their logs alone, so a broker lacks the others there. None: all.
        config: names of brokers and topics to values, as `what_if` takes them.
        everything: read every segment, as after a crash without a known recovery point.
        now: when the broker starts: producers expire by it; None takes the machine's time.
        kafka: the broker's version, such as "2.8"; None takes the newest that the directory shows.

    Raises:
        ConfigError: a configuration's name or value is wrong, or the version is unknown.
        LogDirectoryError: it does not exist, or nothing there looks like Kafka's, or it is in use.
        LookupError: a topic or partition is not there.
        OutputError: neither ``to`` nor ``in_place`` is given, or both; or the copy has content; or
            some logs are chosen with ``in_place``.
        WorkbenchError, OSError: a log cannot be loaded.

    Kafka: LogManager.startup, shutdown (4.2)
    """
    change = _chosen(path, to, topics, partitions, config, kafka, in_place=in_place)
    with change.copied(_warn, change.only):
        return change.recover(everything=everything, now=time_or_now(now))


@explained
def compact(
    path: InHand,
    to: StrPath | None = None,
    *,
    in_place: bool = False,
    topics: Names = None,
    partitions: Partitions = None,
    config: Config = None,
    now: Time | Sequence[Time] | None = None,
    passes: int = 1,
    everything: bool = False,
    kafka: str | None = None,
) -> list[Compaction]:
    """Clean compacted logs in a copy as a broker's cleaner does, even if they are not due.

        done = compact("sample_data/shop-4.3.1", "compacted", topics="customers")

    Args:
        path, to, in_place: see `recover`.
        topics: topics whose logs are cleaned, whatever their policy; None: those known to be
            compacted.
        partitions: numbers: only these of the logs. Names such as ``"customers-0"``: these logs,
            whatever their policy.
        config: names of brokers and topics to values, as `what_if` takes them.
        now: the times of the rounds, ascending; one for all rounds; None takes the machine's time.
        passes: the number of rounds; ignored for a list of times.
        everything: begin each round at the log start offset, as if no section were clean.
        kafka: see `recover`.

    Raises:
        ConfigError, LogDirectoryError, OutputError, WorkbenchError, OSError: as `recover`.
        LookupError: a topic or partition is not there.

    Kafka: LogCleaner.CleanerThread.cleanLog (4.2)
    """
    times = round_times(now, passes)
    change = _chosen(path, to, topics, partitions, config, kafka, in_place=in_place)
    with change.copied(_warn):
        return change.compact(times, everything=everything)


@explained
def retain(
    path: InHand,
    to: StrPath | None = None,
    *,
    in_place: bool = False,
    topics: Names = None,
    partitions: Partitions = None,
    config: Config = None,
    now: Time | None = None,
    kafka: str | None = None,
) -> Retention:
    """Apply retention once to a copy, as a broker's periodic task does; see `recover`.

        result = retain("sample_data/shop-4.3.1", "retained", now="2024-12-01")

    Args:
        path, to, in_place: see `recover`.
        topics, partitions: names of topics; numbers of partitions, or names such as ``"orders-0"``:
            retention works on their logs alone. None: on all.
        config: names of brokers and topics to values, as `what_if` takes them.
        now: the time that ages are measured by; None takes the machine's time.
        kafka: see `recover`.

    Raises:
        ConfigError, LogDirectoryError, LookupError, OutputError, WorkbenchError, OSError: as
            `recover`.

    Kafka: LogManager.cleanupLogs (4.2)
    """
    change = _chosen(path, to, topics, partitions, config, kafka, in_place=in_place)
    with change.copied(_warn):
        return change.retain(time_or_now(now))


class DirectoryChange(NamedTuple):
    """What a change reads and what it changes: one road, for Python and for the commands.

    Attributes:
        path: the log directory that is read.
        fs: what reads it.
        where: the directory that is changed: a copy, or ``path`` itself.
        only: the logs that are chosen; None: all.
        cleaned: topics whose logs are cleaned whatever their policy: those with a name.
        meant: the broker that is assumed.
        settings: its configuration, and that of the topics.
    """

    path: str
    fs: Files
    where: str
    only: frozenset[TopicPartition] | None
    cleaned: frozenset[str]
    meant: MeantBroker
    settings: Settings

    @classmethod
    def of(
        cls,
        path: str,
        fs: Files,
        where: str,
        *,
        topics: Names,
        partitions: Partitions,
        config: Config,
        kafka: str | None,
    ) -> Self:
        """List a directory, and choose logs and a broker.

        Raises:
            ConfigError: a configuration's name or value is wrong, or the version is unknown.
            LogDirectoryError: it does not exist, or nothing there looks like Kafka's.
            LookupError: a topic or partition is not there.
            OSError: it cannot be listed.
        """
        listing = list_log_directories(path, fs=fs)
        require_logs(listing)
        topics, partitions = several(topics), several(partitions)
        only = chosen_names(listing, topics, partitions)
        named: frozenset[str] = frozenset()
        if only is not None and are_named(topics, partitions):
            named = frozenset(each.topic for each in only)
        return cls(path, fs, where, only, named, *meant_settings(listing, config, kafka))

    @contextmanager
    def copied(
        self, tell: Callable[[SkippedFile], None], only: Collection[TopicPartition] | None = None
    ) -> Iterator[list[SkippedFile]]:
        """Do what the function `copied` does, and report what was left out."""
        with copied(self.path, self.fs, self.where, only) as left_out:
            for each in left_out:
                tell(each)
            yield left_out

    def recover(
        self, *, everything: bool, now: int | None, progress: Progress | None = None
    ) -> Recovery:
        """Recover what is changed; see `recover_directory`."""
        return recover_directory(
            self.where,
            self.settings.broker,
            topic_configs=self.settings.topic_configs,
            everything=everything,
            now=now,
            progress=progress,
            kafka=self.meant.version,
        )

    def compact(
        self, times: Sequence[int], *, everything: bool, progress: Progress | None = None
    ) -> list[Compaction]:
        """Clean logs of what is changed; see `compact_directory`."""
        return compact_directory(
            self.where,
            times,
            self.settings,
            topics=self.cleaned,
            only=self.only,
            everything=everything,
            progress=progress,
        )

    def retain(
        self, now: int, *, is_dry: bool = False, progress: Progress | None = None
    ) -> Retention:
        """Apply retention to what is changed, or predict it; see `retaining.retain`."""
        dry = DryFileSystem(self.fs, within=[self.where], now=lambda: now) if is_dry else None
        return retain_directory(
            self.where,
            now,
            self.settings.broker,
            topic_configs=self.settings.topic_configs,
            only=self.only,
            fs=dry or LOCAL,
            progress=progress,
            kafka=self.meant.version,
        )


def _chosen(
    path: InHand,
    to: StrPath | None,
    topics: Names,
    partitions: Partitions,
    config: Config,
    kafka: str | None,
    *,
    in_place: bool,
) -> DirectoryChange:
    found, fs = opened(*one_path(path, "a change"))
    if (to is None) != in_place:
        raise OutputError(found, "give either to=OUT or in_place=True, to say what to change")
    where = chosen_target(found, None if to is None else os.fspath(to))
    return DirectoryChange.of(
        found, fs, where, topics=topics, partitions=partitions, config=config, kafka=kafka
    )


def _warn(left_out: SkippedFile) -> None:
    warn_caller(str(left_out), NotCopiedWarning)


def chosen_target(path: str, target: str | None) -> str:
    """Return the path of the directory to be changed; None: ``path`` itself.

    Raises:
        OutputError: the copy would be inside the directory, or ``path`` is not on this machine.
    """
    if target is None:
        if not is_here(path):
            raise OutputError(path, "nothing is written there; give --to OUT to change a copy")
        return path
    refuse_inputs(target, [path])
    return target


@contextmanager
def copied(
    path: str, fs: Files, where: str, only: Collection[TopicPartition] | None = None
) -> Iterator[list[SkippedFile]]:
    """Copy a log directory to be changed; yield what was left out.

    If both paths are the same, nothing is copied. If the change fails, the copy is removed.

    Args:
        path: the log directory.
        fs: what reads it.
        where: the copy.
        only: the logs that are copied; None: all.

    Raises:
        OutputError: the target already has content, or one directory is inside the other; or some
            logs are chosen, and nothing is copied.
        OSError: it cannot be copied.
    """
    if path == where:
        if only is not None:
            raise OutputError(path, "a directory is recovered as a whole: give --to OUT for some")
        yield []
        return
    was_there = os.path.isdir(where)
    left_out = copy_log_directory(path, where, fs, only)
    made = os.lstat(where)
    try:
        yield left_out
        require_unchanged(where, made)
    except BaseException:
        if is_unchanged(where, made):  # otherwise it is another's
            remove_folder(where, keep=was_there)
        raise
