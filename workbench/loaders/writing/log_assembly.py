"""Combine logs that were written in parallel into one partition, completely or not at all.

Each writer wrote a log of its own, from offset 0, into a directory of its own. Here their segments
are joined in order: the base offset and the leader epoch of a batch are outside its CRC, and index
entries are relative to their segment's base offset, so nothing else changes.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from operator import itemgetter
from typing import Final

import numpy as np

from workbench.errors import LogDirectoryError
from workbench.file_system.local import FileSystem
from workbench.files.file_records import FileRecords
from workbench.files.leader_epochs import EpochEntry, LeaderEpochs
from workbench.files.names import LEADER_EPOCHS, LOCK, TopicPartition, file_name, parse_file_name
from workbench.files.producer_snapshot import ProducerSnapshot
from workbench.inspection.listing import list_log_directories
from workbench.inspection.partition import DiskPartition
from workbench.loaders.writing.log_writing import LEADER_EPOCH
from workbench.record.writing.batch_checks import OFFSET_AND_EPOCH_SIZE, set_offset_and_epoch

_KINDS: Final = ("index", "timeindex", "log")  # a log without indexes is complete


class Assembly:
    """Move what writers left to where partitions belong.

    Args:
        fs: the file system that is written through.
        root: the log directory of a broker that does not run.
        staging: a directory in it, for incomplete partitions.
    """

    def __init__(self, fs: FileSystem, root: str, staging: str) -> None:
        self._fs = fs
        self._root = root
        self._staging = staging

    def publish(
        self,
        logs: Mapping[TopicPartition, Sequence[str]],
        *,
        overwrite: bool,
        keeps_offsets: bool,
    ) -> None:
        """Move logs to their partitions.

        Args:
            logs: directories of the closed logs of each partition, in the order of their records.
            overwrite: whether these topics are replaced with all their partitions; otherwise the
                logs are appended to the existing ones.
            keeps_offsets: whether the offsets of the batches are kept.

        Raises:
            LogDirectoryError: a broker uses the directory, or offsets that are to be kept overlap.
            OSError: files cannot be moved.
        """
        with ExitStack() as stack:
            lock = os.path.join(self._root, LOCK)
            if self._fs.exists(lock):
                stack.callback(self._fs.lock(lock).release)
            there = list_log_directories([self._root]).partitions.values()
            current = {TopicPartition(p.topic, p.partition): p for p in there if p.kind == "log"}
            topics = {name.topic for name in logs} if overwrite else set()
            doomed = [partition for name, partition in current.items() if name.topic in topics]
            folders = {
                name: self._assembled(
                    name,
                    found,
                    None if name.topic in topics else current.get(name),
                    keeps_offsets=keeps_offsets,
                )
                for name, found in logs.items()
            }
            for partition in doomed:
                self._set_aside(partition)
            for name, folder in folders.items():
                self._move_in(folder, os.path.join(self._root, str(name)))
            self._fs.sync_directory(self._root)
        for partition in doomed:
            shutil.rmtree(self._aside(partition))

    def _assembled(
        self,
        name: TopicPartition,
        logs: Sequence[str],
        before: DiskPartition | None,
        *,
        keeps_offsets: bool,
    ) -> str:
        """Put the segments of several logs into one directory, and return it."""
        folder = os.path.join(self._staging, str(name))
        self._fs.make_directory(folder)
        epochs = None if before is None else before.leader_epochs
        epoch = epochs.entries[-1].epoch if epochs and epochs.entries else LEADER_EPOCH
        start = end = 0 if before is None else before.log_end_offset
        pieces = [(log, base) for log in logs for base in self._base_offsets(log)]
        if keeps_offsets:
            pieces.sort(key=itemgetter(1))
        ends: list[int] = []
        for number, (log, base) in enumerate(pieces):
            if keeps_offsets and base < end:
                problem = f"offset {base} of {name} is written twice, or exists already"
                raise LogDirectoryError(self._root, problem)
            new_base = base if keeps_offsets else end
            start = new_base if number == 0 else start
            path = os.path.join(log, file_name("log", base))
            end = self._shift(path, new_base - base, epoch)
            for kind in _KINDS:
                old = os.path.join(log, file_name(kind, base))
                self._fs.rename(old, os.path.join(folder, file_name(kind, new_base)))
            ends.append(end)
        if before is None:
            self._complete(folder, EpochEntry(epoch, start), ends)
        self._fs.sync_directory(folder)
        return folder

    def _complete(self, folder: str, epoch: EpochEntry, ends: Sequence[int]) -> None:
        """Write the files of a new partition besides segments: its epoch and empty snapshots.

        Args:
            folder: the partition directory.
            epoch: its only epoch.
            ends: the end offset of each segment.
        """
        self._fs.write_atomically(
            os.path.join(folder, LEADER_EPOCHS), LeaderEpochs((epoch,)).encode()
        )
        for end in ends:
            path = os.path.join(folder, file_name("snapshot", end))
            self._fs.write_atomically(path, ProducerSnapshot().encode())

    def _base_offsets(self, log: str) -> list[int]:
        names = [parse_file_name(entry.name) for entry in self._fs.list(log)]
        return [name.offset for name in names if name and name.kind == "log" and not name.suffix]

    def _shift(self, path: str, shift: int, epoch: int) -> int:
        """Move the offsets of a segment's batches, and return the end of the last one."""
        records = FileRecords.open(self._fs, path)
        rows = records.batches().rows
        if shift or epoch != LEADER_EPOCH:
            start = np.empty(OFFSET_AND_EPOCH_SIZE, np.uint8)
            for position, size, base in rows[["position", "size", "base_offset"]].tolist():
                set_offset_and_epoch(start, 0, size, base + shift, epoch)
                records.file.write(start, position)
            records.flush()
        records.close()
        return int(rows["last_offset"][-1]) + shift + 1

    def _aside(self, partition: DiskPartition) -> str:
        return os.path.join(self._staging, f"{partition.name}-replaced")

    def _set_aside(self, partition: DiskPartition) -> None:
        self._fs.rename(partition.path, self._aside(partition))

    def _move_in(self, folder: str, target: str) -> None:
        """Move an assembled directory to its path, or its segments into an existing directory."""
        if not self._fs.exists(target):
            self._fs.rename(folder, target)
            return
        names = [entry.name for entry in self._fs.list(folder)]
        for kind in _KINDS:
            for name in names:
                if name.endswith(f".{kind}"):
                    self._fs.rename(os.path.join(folder, name), os.path.join(target, name))
        self._fs.sync_directory(target)
