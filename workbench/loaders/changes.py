"""Recover, compact and apply retention: to a copy of a log directory, or to the directory itself.

`wb.recover`, `wb.compact` and `wb.retain`, and the commands of these names, use this module.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from workbench.errors import OutputError
from workbench.file_system.archives.opening import is_here
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
from workbench.inspection.listing import Listing, StrPath, list_log_directories, require_logs
from workbench.loaders.in_hand import InHand, one_path
from workbench.loaders.partition import Config
from workbench.loaders.read_warnings import warn_caller
from workbench.loaders.remote import opened
from workbench.loaders.scan.plan import are_named, chosen_names
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
    path, fs, where = _chosen(path, to, in_place=in_place)
    listing = listed(path, fs)
    only = chosen_names(listing, topics, partitions)
    meant, settings = meant_settings(listing, config, kafka)
    with _copied(path, fs, where, only):
        return recover_directory(
            where,
            settings.broker,
            topic_configs=settings.topic_configs,
            everything=everything,
            now=time_or_now(now),
            kafka=meant.version,
        )


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
    path, fs, where = _chosen(path, to, in_place=in_place)
    times = round_times(now, passes)
    listing, names, numbers = listed(path, fs), several(topics), several(partitions)
    only = chosen_names(listing, names, numbers)
    _, settings = meant_settings(listing, config, kafka)
    with _copied(path, fs, where):
        return compact_directory(
            where,
            times,
            settings,
            topics=cleaned_whatever(only, names, numbers),
            only=only,
            everything=everything,
        )


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
    path, fs, where = _chosen(path, to, in_place=in_place)
    listing = listed(path, fs)
    only = chosen_names(listing, topics, partitions)
    meant, settings = meant_settings(listing, config, kafka)
    with _copied(path, fs, where):
        return retain_directory(
            where,
            time_or_now(now),
            settings.broker,
            topic_configs=settings.topic_configs,
            only=only,
            kafka=meant.version,
        )


def cleaned_whatever(
    only: Collection[TopicPartition] | None,
    topics: Collection[str] | None,
    partitions: Collection[int | str] | None,
) -> frozenset[str]:
    """Return the topics whose chosen logs are cleaned whatever their policy: those with a name."""
    if only is None or not are_named(topics, partitions):
        return frozenset()
    return frozenset(each.topic for each in only)


def _chosen(path: InHand, to: StrPath | None, *, in_place: bool) -> tuple[str, Files, str]:
    """Return what is read, what reads it, and what is changed."""
    found, fs = opened(*one_path(path, "a change"))
    if (to is None) != in_place:
        raise OutputError(found, "give either to=OUT or in_place=True, to say what to change")
    return found, fs, chosen_target(found, None if to is None else os.fspath(to))


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


@contextmanager
def _copied(
    path: str, fs: Files, where: str, only: Collection[TopicPartition] | None = None
) -> Iterator[None]:
    with copied(path, fs, where, only) as left_out:
        for each in left_out:
            warn_caller(str(each), NotCopiedWarning)
        yield


def listed(path: str, fs: Files) -> Listing:
    """List the directory that is to be changed or copied.

    Raises:
        LogDirectoryError: it does not exist, or nothing there looks like Kafka's.
        OSError: it cannot be listed.
    """
    listing = list_log_directories(path, fs=fs)
    require_logs(listing)
    return listing
