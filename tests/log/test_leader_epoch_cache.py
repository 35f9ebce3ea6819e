"""The leader epochs of one partition: assigned, asked for, truncated, written."""

import random
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.kafka_broker import compile_java, run_java
from workbench.config.log_config import LogConfig
from workbench.errors import StorageError
from workbench.file_system.local import LOCAL
from workbench.files.leader_epochs import EpochEntry, LeaderEpochs
from workbench.files.names import TopicPartition
from workbench.log.context import LogContext
from workbench.log.leader_epoch_cache import LeaderEpochCache
from workbench.runtime.clock import ManualClock
from workbench.runtime.failures import LogDirFailures
from workbench.runtime.scheduler import ManualScheduler
from workbench.runtime.steps import Step

PROGRAM = """
import java.io.File;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.*;

public class Epochs {
    static class AtOnce implements Scheduler {
        public void startup() { }
        public void shutdown() { }
        public void resizeThreadPool(int size) { }
        public ScheduledFuture<?> schedule(String name, Runnable task, long delay, long period) {
            task.run();
            return null;
        }
    }

    static String text(Collection<EpochEntry> entries) {
        return entries.stream().map(e -> e.epoch() + ":" + e.startOffset())
            .collect(Collectors.joining(" "));
    }

    static String or(OptionalInt value) {
        return value.isPresent() ? "" + value.getAsInt() : "-1";
    }

    static LeaderEpochFileCache open(File file) throws Exception {
        return new LeaderEpochFileCache(new TopicPartition("orders", 0),
            new LeaderEpochCheckpointFile(file, new LogDirFailureChannel(1)), new AtOnce());
    }

    public static void main(String[] arguments) throws Exception {
        File file = new File(arguments[1], "leader-epoch-checkpoint");
        LeaderEpochFileCache cache = open(file);
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] words = line.split(" ");
            int one = Integer.parseInt(words[1]);
            int two = Integer.parseInt(words[2]);
            switch (words[0]) {
                case "assign": cache.assign(one, two); break;
                case "end": cache.truncateFromEndAsyncFlush(one); break;
                case "start": cache.truncateFromStartAsyncFlush(one); break;
                case "clear": cache.clearAndFlush(); break;
                case "reopen": cache = open(file); break;
            }
            Map.Entry<Integer, Long> end = cache.endOffsetFor(one, 1000);
            System.out.println(String.join(" | ", text(cache.epochEntries()),
                end.getKey() + ":" + end.getValue(), or(cache.epochForOffset(two)),
                or(cache.previousEpoch()), or(cache.previousEpoch(one)), or(cache.nextEpoch(one)),
                text(cache.epochEntriesInRange(one, two)),
                Files.readString(file.toPath()).replace('\\n', ',')));
        }
    }
}
"""

Pairs = list[tuple[int, int]]
THREE: Pairs = [(2, 6), (3, 8), (4, 11)]


@pytest.fixture
def context(tmp_path: Path) -> LogContext:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    clock = ManualClock()
    return LogContext(
        directory=str(directory),
        topic_partition=TopicPartition("orders", 0),
        config=LogConfig.of(),
        fs=LOCAL,
        clock=clock,
        scheduler=ManualScheduler(clock),
        failures=LogDirFailures(),
        observer=None,
        rng=random.Random(0),
    )


@pytest.fixture
def cache(context: LogContext) -> LeaderEpochCache:
    return LeaderEpochCache(context)


def filled(cache: LeaderEpochCache, entries: Pairs = THREE) -> LeaderEpochCache:
    for epoch, start_offset in entries:
        cache.assign(epoch, start_offset)
    return cache


def pairs(entries: Iterable[EpochEntry]) -> Pairs:
    return [(entry.epoch, entry.start_offset) for entry in entries]


def stored(cache: LeaderEpochCache) -> Pairs:
    return pairs(LeaderEpochs.read(cache.path).entries)


def test_an_assigned_epoch_is_known(cache: LeaderEpochCache) -> None:
    """LE-1."""
    assert cache.assign(2, 10)
    assert cache.non_empty
    assert cache.latest_epoch == 2
    assert cache.latest == cache.earliest == EpochEntry(2, 10)
    assert cache.end_offset_for(2, 100) == (2, 100)


def test_nothing_is_told_of_no_epoch_or_by_an_empty_cache(cache: LeaderEpochCache) -> None:
    """LE-2."""
    assert cache.end_offset_for(5, 100) is None
    assert cache.end_offset_for(-1, 100) is None
    assert cache.latest is None
    assert cache.earliest is None
    assert cache.latest_epoch is None
    assert cache.previous_epoch() is None
    filled(cache)
    assert cache.end_offset_for(-1, 100) is None


@pytest.mark.parametrize(
    ("entries", "epoch", "found"),
    [
        ([(5, 11), (6, 12), (7, 13)], 4, (4, 11)),
        ([(5, 11), (6, 12), (7, 13)], 5, (5, 12)),
        ([(5, 11), (6, 12), (7, 13)], 8, None),
        ([(0, 10), (2, 13), (4, 17)], 1, (0, 13)),
        ([(0, 10), (2, 13), (4, 17)], 2, (2, 17)),
        ([(0, 10), (2, 13), (4, 17)], 3, (2, 17)),
        ([(0, 10), (2, 13), (4, 17)], 4, (4, 100)),
    ],
)
def test_an_epoch_ends_where_the_next_one_begins(
    cache: LeaderEpochCache, entries: Pairs, epoch: int, found: tuple[int, int] | None
) -> None:
    """LE-3."""
    assert filled(cache, entries).end_offset_for(epoch, 100) == found


@pytest.mark.parametrize(
    ("entries", "left"),
    [
        ([(2, 6), (2, 7)], [(2, 6)]),
        ([(2, 9), (3, 9)], [(3, 9)]),
        ([(1, 5), (2, 6), (1, 7)], [(1, 7)]),
        ([(2, 6), (3, 5)], [(3, 5)]),
        ([(0, 0), (1, 5), (2, 8), (1, 5)], [(0, 0), (1, 5)]),
        ([(2, 6), (3, 8), (2, 4)], [(2, 4)]),
    ],
)
def test_what_contradicts_a_new_epoch_is_forgotten(
    cache: LeaderEpochCache, entries: Pairs, left: Pairs
) -> None:
    """LE-4: the same epoch again is not needed, a later or overlapping one goes."""
    filled(cache, entries)
    assert pairs(cache.entries) == left
    assert stored(cache) == left


def test_the_same_epoch_from_an_earlier_offset_replaces_all_from_there(
    cache: LeaderEpochCache,
) -> None:
    """LE-5."""
    filled(cache, [(5, 11), (6, 12), (7, 13), (7, 12)])
    assert cache.entries == (EpochEntry(5, 11), EpochEntry(7, 12))
    assert cache.end_offset_for(5, 100) == (5, 12)
    assert cache.end_offset_for(6, 100) == (5, 12)


def test_assigning_what_is_known_changes_and_writes_nothing(cache: LeaderEpochCache) -> None:
    """LE-4."""
    filled(cache)
    Path(cache.path).unlink()
    assert not cache.assign(4, 11)
    assert not cache.assign(4, 50)
    assert not Path(cache.path).exists()


@pytest.mark.parametrize(("epoch", "offset"), [(-1, 0), (0, -1)])
def test_negative_epochs_and_offsets_are_refused(
    cache: LeaderEpochCache, epoch: int, offset: int
) -> None:
    with pytest.raises(ValueError, match="orders-0"):
        cache.assign(epoch, offset)
    assert not cache.non_empty


@pytest.mark.parametrize(
    ("end_offset", "left"),
    [(8, [(2, 6)]), (9, [(2, 6), (3, 8)]), (12, THREE), (6, []), (0, [])],
)
def test_truncating_the_end_forgets_epochs_that_begin_there_or_behind(
    cache: LeaderEpochCache, end_offset: int, left: Pairs
) -> None:
    """LE-6."""
    filled(cache).truncate_from_end_async_flush(end_offset)
    assert pairs(cache.entries) == left
    assert stored(cache) == left


@pytest.mark.parametrize(
    ("entries", "start_offset", "left"),
    [
        (THREE, 8, [(3, 8), (4, 11)]),
        (THREE, 9, [(3, 9), (4, 11)]),
        (THREE, 1, THREE),
        (THREE, 6, THREE),
        (THREE, 11, [(4, 11)]),
        (THREE, 15, [(4, 15)]),
        ([(0, 0), (1, 7), (2, 10)], 5, [(0, 5), (1, 7), (2, 10)]),
    ],
)
def test_truncating_the_start_keeps_the_epoch_that_the_log_starts_in(
    cache: LeaderEpochCache, entries: Pairs, start_offset: int, left: Pairs
) -> None:
    """LE-7."""
    filled(cache, entries).truncate_from_start_async_flush(start_offset)
    assert pairs(cache.entries) == left
    assert stored(cache) == left


def test_no_offset_truncates_nothing_and_an_empty_cache_is_truncated(
    cache: LeaderEpochCache,
) -> None:
    """LE-8."""
    cache.truncate_from_end_async_flush(7)
    cache.truncate_from_start_async_flush(7)
    assert cache.entries == ()
    filled(cache)
    cache.truncate_from_end_async_flush(-1)
    cache.truncate_from_start_async_flush(-1)
    assert pairs(cache.entries) == THREE


def test_clearing_forgets_all_and_writes_only_if_asked_to(cache: LeaderEpochCache) -> None:
    """LE-8."""
    filled(cache).clear()
    assert not cache.non_empty
    assert stored(cache) == THREE
    filled(cache).clear_and_flush()
    assert not cache.non_empty
    assert stored(cache) == []


def test_neighbours_of_an_epoch(cache: LeaderEpochCache) -> None:
    """LE-9."""
    filled(cache, [(2, 10), (4, 20), (6, 30)])
    assert cache.previous_epoch() == 4
    assert [cache.previous_epoch(epoch) for epoch in (2, 3, 4, 6, 9)] == [None, 2, 2, 4, 6]
    assert [cache.next_epoch(epoch) for epoch in (1, 2, 3, 6)] == [2, 4, 4, None]
    assert cache.previous_entry(4) == EpochEntry(2, 10)
    assert cache.previous_entry(2) is None
    assert cache.entry(4) == EpochEntry(4, 20)
    assert cache.entry(5) is None


def test_the_epoch_of_an_offset(cache: LeaderEpochCache) -> None:
    """LE-9."""
    filled(cache, [(1, 20), (5, 30)])
    assert [cache.epoch_for_offset(offset) for offset in (25, 20, 30, 50, 5)] == [1, 1, 5, 5, None]


def test_the_epochs_of_a_range_begin_with_it(cache: LeaderEpochCache) -> None:
    filled(cache)
    assert cache.entries_in_range(9, 11) == (EpochEntry(3, 9),)
    assert cache.entries_in_range(-1, 11) == (EpochEntry(2, 6), EpochEntry(3, 8))
    assert cache.entries_in_range(9, -1) == (EpochEntry(3, 9), EpochEntry(4, 11))
    assert cache.entries_in_range(0, 6) == ()
    assert pairs(cache.entries) == THREE


def test_epochs_come_back_from_the_file(context: LogContext, cache: LeaderEpochCache) -> None:
    """LE-10: they are on the disk when `assign` returns."""
    filled(cache)
    assert Path(cache.path).read_bytes() == b"0\n3\n2 6\n3 8\n4 11\n"
    assert LeaderEpochCache(context).entries == cache.entries


def test_a_truncation_is_written_by_the_scheduler(
    context: LogContext, cache: LeaderEpochCache
) -> None:
    """LE-10: in a task of its own; only what was added is written before the call returns."""
    names: list[str] = []

    class Waiting(ManualScheduler):
        def run_due(self) -> None:
            names.extend(task.name for task in self.pending)

    filled(cache)
    clock = ManualClock()
    context.scheduler = waiting = Waiting(clock)
    cache.truncate_from_end_async_flush(8)
    assert stored(cache) == THREE
    assert names == ["leader-epoch-cache-flush-orders-0"]
    ManualScheduler.run_due(waiting)
    assert stored(cache) == [(2, 6)]


def test_a_late_write_of_a_log_that_is_gone_does_nothing(
    context: LogContext, cache: LeaderEpochCache
) -> None:
    """CK-2: as `writeIfDirExists`."""
    filled(cache)
    Path(context.directory).rename(context.directory + ".gone")
    cache.truncate_from_end_async_flush(8)
    assert context.failures.offline == ()
    assert not Path(context.directory).exists()


def test_the_file_follows_the_folder(context: LogContext, cache: LeaderEpochCache) -> None:
    filled(cache)
    moved = f"{context.directory}.0123-delete"
    Path(context.directory).rename(moved)
    context.directory = moved
    cache.assign(9, 50)
    assert stored(cache) == [*THREE, (9, 50)]
    assert Path(cache.path).parent == Path(moved)


def test_opening_makes_an_empty_file(cache: LeaderEpochCache) -> None:
    assert Path(cache.path).read_bytes() == b""


@pytest.mark.parametrize("data", [b"1\n0\n", b"0\n2\n1 1\n", b"0\n1\nx y\n", b"0\n1\n-3 5\n"])
def test_a_damaged_file_takes_the_log_directory_offline(context: LogContext, data: bytes) -> None:
    """CK-2."""
    Path(context.path("leader-epoch-checkpoint")).write_bytes(data)
    with pytest.raises(StorageError, match="leader-epoch-checkpoint"):
        LeaderEpochCache(context)
    assert context.failures.offline == (context.log_directory,)


def test_entries_that_do_not_ascend_are_assigned_one_after_the_other(context: LogContext) -> None:
    Path(context.path("leader-epoch-checkpoint")).write_bytes(b"0\n3\n1 5\n3 9\n2 7\n")
    assert LeaderEpochCache(context).entries == (EpochEntry(1, 5), EpochEntry(2, 7))


def test_a_failed_write_takes_the_log_directory_offline(
    context: LogContext, cache: LeaderEpochCache
) -> None:
    Path(context.directory).rename(context.directory + ".gone")
    with pytest.raises(StorageError):
        cache.assign(1, 0)
    assert context.failures.is_offline(context.log_directory)


def test_an_observer_is_told_of_what_was_assigned_and_truncated(
    context: LogContext, cache: LeaderEpochCache
) -> None:
    steps: list[Step] = []
    context.observer = steps.append
    filled(cache)
    cache.assign(7, 8)
    cache.truncate_from_start_async_flush(7)
    assert [step.kind for step in steps] == [
        *["leader epoch assigned"] * 4,
        "leader epochs truncated",
    ]
    assert steps[3].reason == "the new epoch replaces epochs 3 at 8, 4 at 11"
    assert steps[4].numbers["removed"] == [EpochEntry(2, 6)]


def test_many_assignments_keep_epochs_and_offsets_ascending(cache: LeaderEpochCache) -> None:
    """Whatever is assigned or truncated, look-ups may go by bisection."""
    rng = random.Random(4)
    for _ in range(200):
        number = rng.randrange(40)
        match rng.randrange(8):
            case 0:
                cache.truncate_from_end_async_flush(number)
            case 1:
                cache.truncate_from_start_async_flush(number)
            case _:
                cache.assign(rng.randrange(20), number)
        for one, following in pairwise(cache.entries):
            assert one.epoch < following.epoch
            assert one.start_offset < following.start_offset
    assert stored(cache) == pairs(cache.entries)


def told(cache: LeaderEpochCache, one: int, two: int) -> str:
    """Return what the program prints of a cache."""

    def text(entries: Iterable[EpochEntry]) -> str:
        return " ".join(f"{entry.epoch}:{entry.start_offset}" for entry in entries)

    def number(value: int | None) -> str:
        return str(-1 if value is None else value)

    end = cache.end_offset_for(one, 1000) or (-1, -1)
    parts = (
        text(cache.entries),
        f"{end[0]}:{end[1]}",
        number(cache.epoch_for_offset(two)),
        number(cache.previous_epoch()),
        number(cache.previous_epoch(one)),
        number(cache.next_epoch(one)),
        text(cache.entries_in_range(one, two)),
        Path(cache.path).read_text().replace("\n", ","),
    )
    return " | ".join(parts)


@pytest.mark.broker
def test_random_epochs_are_told_as_kafka_tells_them(context: LogContext, tmp_path: Path) -> None:
    """LE-1 to LE-10, in every order: entries, answers, and the file."""
    rng = random.Random(11)
    verbs = rng.choices(
        ["assign", "end", "start", "clear", "reopen", "ask"], [12, 3, 3, 0.3, 1, 3], k=300
    )
    script, newest = [], 0
    for verb in verbs:
        newest += rng.choice([0, 0, 1])
        near = max(0, newest + rng.randrange(-6, 4))
        one = near if verb in ("assign", "ask") else 3 * near + rng.randrange(-1, 4)
        script.append((verb, one, 3 * near + rng.randrange(4)))
    (tmp_path / "theirs").mkdir()
    lines = "".join(f"{verb} {one} {two}\n" for verb, one, two in script)
    (tmp_path / "script").write_text(lines)
    classes = compile_java("4.2.0", PROGRAM, "Epochs")
    arguments = (str(tmp_path / "script"), str(tmp_path / "theirs"))
    done = run_java("4.2.0", "Epochs", *arguments, classes=classes)
    assert done.returncode == 0, done.stderr
    cache = LeaderEpochCache(context)
    for (verb, one, two), expected in zip(script, done.stdout.splitlines(), strict=True):
        match verb:
            case "assign":
                cache.assign(one, two)
            case "end":
                cache.truncate_from_end_async_flush(one)
            case "start":
                cache.truncate_from_start_async_flush(one)
            case "clear":
                cache.clear_and_flush()
            case "reopen":
                cache = LeaderEpochCache(context)
        assert told(cache, one, two) == expected, (verb, one, two)
