"""Random lives of a partition's producers, lived by Kafka's own ProducerStateManager, too."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kafka_broker import compile_java, run_java
from tests.log.producers import EXPIRATION, LAST_SEQUENCE, TIMEOUT, Producers, batch
from workbench.errors import WorkbenchError
from workbench.log.append.append_origin import AppendOrigin
from workbench.log.fetch import LogOffsetMetadata

LIVES = 60
STEPS = 80
VERIFICATIONS_BEGIN = 10 * EXPIRATION  # ms; after all other times, so that none expires

ERRORS = {
    "OutOfOrderSequenceError": "OutOfOrderSequenceException",
    "InvalidProducerEpochError": "InvalidProducerEpochException",
    "InvalidTransactionStateError": "InvalidTxnStateException",
    "CoordinatorFencedError": "TransactionCoordinatorFencedException",
    "ValueError": "IllegalArgumentException",
}

PROGRAM = """
import java.io.File;
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.*;

public class ProducerLives {
    static ProducerStateManager manager;
    static File folder;

    static String or(OptionalLong value) {
        return value.isPresent() ? "" + value.getAsLong() : "-";
    }

    static String state() {
        StringBuilder text = new StringBuilder();
        text.append(manager.firstUnstableOffset().map(o -> "" + o.messageOffset).orElse("-"));
        text.append(' ').append(or(manager.firstUndecidedOffset()));
        text.append(' ').append(manager.mapEndOffset());
        text.append(' ').append(or(manager.oldestSnapshotOffset()));
        text.append(' ').append(or(manager.latestSnapshotOffset()));
        text.append(' ').append(manager.isEmpty());
        text.append(' ').append(manager.hasLateTransaction(2000000L));
        for (ProducerStateEntry e : new TreeMap<>(manager.activeProducers()).values()) {
            text.append(" [").append(e.producerId()).append(' ').append(e.producerEpoch());
            text.append(' ').append(e.coordinatorEpoch()).append(' ').append(e.lastTimestamp());
            text.append(' ').append(or(e.currentTxnFirstOffset()));
            for (BatchMetadata b : e.batchMetadata())
                text.append(" (").append(b.lastSeq()).append(' ').append(b.lastOffset())
                    .append(' ').append(b.offsetDelta()).append(' ').append(b.timestamp())
                    .append(')');
            text.append(']');
        }
        String[] names = folder.list();
        Arrays.sort(names);
        text.append(' ').append(String.join(",", names));
        return text.toString();
    }

    static String apply(String[] w) throws Exception {
        long[] n = new long[w.length];
        for (int i = 1; i < w.length; i++)
            if (w[i].matches("-?[0-9]+")) n[i] = Long.parseLong(w[i]);
        switch (w[0]) {
            case "data": {
                ProducerAppendInfo info = manager.prepareUpdate(n[1], AppendOrigin.valueOf(w[8]));
                int sequence = (int) n[3];
                long offset = n[4];
                for (int i = 0; i < n[9]; i++) {
                    int last = sequence == -1 ? -1
                        : DefaultRecordBatch.incrementSequence(sequence, (int) n[5] - 1);
                    info.appendDataBatch((short) n[2], sequence, last, n[6],
                        new LogOffsetMetadata(offset), offset + n[5] - 1, w[7].equals("true"));
                    offset += n[5];
                    if (sequence != -1) sequence = DefaultRecordBatch.incrementSequence(last, 1);
                }
                manager.update(info);
                manager.updateMapEndOffset(offset);
                return "ok";
            }
            case "end": {
                ProducerAppendInfo info = manager.prepareUpdate(n[1], AppendOrigin.valueOf(w[8]));
                EndTransactionMarker marker = new EndTransactionMarker(
                    w[4].equals("true") ? ControlRecordType.ABORT : ControlRecordType.COMMIT,
                    (int) n[5]);
                Optional<CompletedTxn> done = info.appendEndTxnMarker(
                    marker, (short) n[2], n[3], n[6], (short) n[7]);
                manager.update(info);
                String told = "ok";
                if (done.isPresent()) {
                    CompletedTxn txn = done.get();
                    told = txn.firstOffset() + " " + txn.lastOffset() + " " + txn.isAborted() + " "
                        + manager.lastStableOffset(txn);
                    manager.completeTxn(txn);
                }
                manager.updateMapEndOffset(n[3] + 1);
                return told;
            }
            case "high": manager.onHighWatermarkUpdated(n[1]); return "ok";
            case "start": manager.onLogStartOffsetIncremented(n[1]); return "ok";
            case "expire": manager.removeExpiredProducers(n[1]); return "ok";
            case "truncate": manager.truncateAndReload(n[1], n[2], n[3]); return "ok";
            case "clear": manager.truncateFullyAndStartAt(n[1]); return "ok";
            case "before": manager.deleteSnapshotsBefore(n[1]); return "ok";
            case "mark": return "" + manager.removeAndMarkSnapshotForDeletion(n[1]).isPresent();
            case "verify":
                manager.maybeCreateVerificationStateEntry(
                    n[1], (int) n[2], (short) n[3], w[4].equals("true"));
                return "ok";
            case "verified": manager.clearVerificationStateEntry(n[1]); return "ok";
            case "strays": {
                List<Long> bases = new ArrayList<>();
                for (int i = 1; i < n.length; i++) bases.add(n[i]);
                manager.removeStraySnapshots(bases);
                return "ok";
            }
            case "snapshot": {
                Optional<File> file = manager.takeSnapshot(false);
                return file.isEmpty() ? "none"
                    : HexFormat.of().formatHex(Files.readAllBytes(file.get().toPath()));
            }
            case "open":
                folder = new File(w[1]);
                folder.mkdirs();
                manager = new ProducerStateManager(new TopicPartition("test", 0), folder,
                    Integer.parseInt(w[2]),
                    new ProducerStateManagerConfig(Integer.parseInt(w[3]), true), Time.SYSTEM);
                return "ok";
            default: throw new IllegalStateException(w[0]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String said;
            try {
                said = apply(line.split(" "));
            } catch (RuntimeException error) {
                said = error.getClass().getSimpleName();
            }
            System.out.println(said + " | " + state());
        }
    }
}
"""


def a_life(rng: random.Random) -> Iterator[str]:
    """Yield what happens to one partition; most appends are right, the others nearly so."""
    end = now = 0
    sequences: dict[int, int] = {}
    epochs: dict[int, int] = {}
    begun: set[int] = set()
    # Some ids share their bucket in a Java map, some only while it is small.
    ids = rng.sample([0, 1, 2, 5, 16, 17, 32, 1000, 2000, 65536, 1 << 32, (1 << 33) + 7], 8)
    ids += range(3000, 3000 + rng.choice([0, 0, 15]))
    for _ in range(STEPS):
        now += rng.choice([0, 10, 1000, EXPIRATION // 4])
        one = rng.choice(ids)
        epoch = max(0, epochs.get(one, 0) + rng.choice([0] * 12 + [1, -1, 2]))
        origin = rng.choice(["CLIENT"] * 6 + ["COORDINATOR", "REPLICATION"])
        match rng.choice(["data"] * 12 + ["end"] * 5 + ["high", "snapshot", "snapshot", "other"]):
            case "data":
                wanted = sequences.get(one, 0) if epoch == epochs.get(one, 0) else 0
                sequence = rng.choice(
                    [wanted] * 10 + [0, wanted + 1, rng.randrange(5), LAST_SEQUENCE - 1, -1]
                )
                sequence = sequence % 2**31 if sequence >= 0 else -1
                count, times = rng.choice([1, 1, 3, 10]), rng.choice([1, 1, 1, 2, 3])
                transactional = str((one in begun) != (rng.random() < 0.1)).lower()
                yield (
                    f"data {one} {epoch} {sequence} {end} {count} {now} {transactional} "
                    f"{origin} {times}"
                )
                if sequence >= 0:
                    sequences[one] = (sequence + count * times) % 2**31
                epochs[one] = epoch
                end += count * times
            case "end":
                version = rng.choice([0, 1, 2, -1])
                origin = rng.choice(["COORDINATOR", "COORDINATOR", "CLIENT", "REPLICATION"])
                bumped = epoch + (version == 2) * rng.choice([1, 1, 1, 0])
                abort = rng.choice(["true", "false"])
                coordinator = rng.choice([0, 1, 1, 2])
                yield f"end {one} {bumped} {end} {abort} {coordinator} {now} {version} {origin}"
                if bumped != epochs.get(one):
                    sequences[one] = 0
                epochs[one] = bumped
                begun = set(rng.sample(ids, 4))
                end += 1
            case "high":
                yield f"high {rng.randrange(end + 2)}"
            case "snapshot":
                yield "snapshot"
            case _:
                low, high = sorted((rng.randrange(end + 2), rng.randrange(end + 2)))
                yield rng.choice(
                    [
                        f"start {low}",
                        f"expire {now + EXPIRATION // 2}",
                        f"truncate {low} {high} {now}",
                        f"truncate 0 {end} {now}",
                        f"truncate 0 {high} {now + EXPIRATION}",
                        f"clear {low}",
                        f"before {low}",
                        f"mark {end}",
                        f"strays {low} {high}",
                        f"verify {one} {rng.randrange(4)} {epoch} {rng.choice(['true', 'false'])}",
                        f"verified {one}",
                    ]
                )


class Life:
    """Does to our producer state what a script says, and reports it as the program does."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.producers = Producers(folder)
        self.producers.clock.set(VERIFICATIONS_BEGIN)
        self.manager = self.producers.manager

    def told(self, line: str) -> str:
        try:
            said = self.apply(line.split(" "))
        except (WorkbenchError, ValueError) as error:
            said = ERRORS[type(error).__name__]
        return f"{said} | {self.state()}"

    def apply(self, words: list[str]) -> str:
        manager = self.manager
        match words:
            case ["data", one, epoch, sequence, offset, count, now, transactional, origin, times]:
                return self.append(
                    [int(word) for word in (one, epoch, sequence, offset, count, now, times)],
                    AppendOrigin[origin],
                    transactional=transactional == "true",
                )
            case ["end", one, epoch, offset, abort, coordinator, now, version, origin]:
                ended = self.producers.end(
                    int(one),
                    int(epoch),
                    int(offset),
                    abort=abort == "true",
                    coordinator_epoch=int(coordinator),
                    timestamp=int(now),
                    version=None if version == "-1" else int(version),
                    origin=AppendOrigin[origin],
                )
                if ended is None:
                    return "ok"
                (_, first, last, is_aborted), stable = ended
                return f"{first} {last} {str(is_aborted).lower()} {stable}"
            case ["snapshot"]:
                path = manager.take_snapshot(sync=False)
                return "none" if path is None else Path(path).read_bytes().hex()
            case ["mark", offset]:
                marked = manager.remove_and_mark_snapshot_for_deletion(int(offset))
                return str(marked is not None).lower()
            case ["verify", one, sequence, epoch, bump]:
                manager.verifications.begin(
                    int(one), int(sequence), int(epoch), supports_epoch_bump=bump == "true"
                )
            case [verb, *rest]:
                numbers = [int(word) for word in rest]
                verbs: dict[str, Callable[..., object]] = {
                    "high": manager.on_high_watermark_updated,
                    "start": manager.on_log_start_offset_incremented,
                    "expire": manager.remove_expired,
                    "truncate": manager.truncate_and_reload,
                    "clear": manager.truncate_fully_and_start_at,
                    "before": manager.delete_snapshots_before,
                    "strays": lambda *bases: manager.remove_stray_snapshots(bases),
                    "verified": manager.verifications.end,
                }
                verbs[verb](*numbers)
        return "ok"

    def append(self, numbers: list[int], origin: AppendOrigin, *, transactional: bool) -> str:
        one, epoch, sequence, offset, count, now, times = numbers
        append = self.manager.prepare_update(one, origin)
        for _ in range(times):
            append.append(
                batch(
                    one,
                    epoch,
                    sequence,
                    offset,
                    count=count,
                    timestamp=now,
                    transactional=transactional,
                ),
                first_offset=LogOffsetMetadata(offset),
            )
            offset += count
            sequence = -1 if sequence == -1 else (sequence + count) % 2**31
        self.manager.update(append)
        self.manager.update_map_end_offset(offset)
        return "ok"

    def state(self) -> str:
        manager = self.manager
        unstable = manager.first_unstable_offset
        numbers = (
            None if unstable is None else unstable.offset,
            manager.first_undecided_offset,
            manager.map_end_offset,
            manager.snapshots.oldest,
            manager.latest_snapshot_offset,
        )
        words = ["-" if number is None else str(number) for number in numbers]
        words += [str(manager.is_empty).lower()]
        words += [str(manager.has_late_transaction(2_000_000)).lower()]
        for _, entry in sorted(manager.producers.items()):
            first = entry.current_transaction_first_offset
            fields = [
                f"[{entry.producer_id} {_number(entry.producer_epoch)}",
                f"{_number(entry.coordinator_epoch)} {_number(entry.last_timestamp)}",
                "-" if first is None else str(first),
            ]
            fields += [f"({_number(one[0])} {one[1]} {one[2]} {one[3]})" for one in entry.batches]
            words.append(" ".join(fields) + "]")
        names = sorted(path.name for path in self.producers.folder.iterdir())
        return " ".join([*words, ",".join(names)])


def _number(value: int | None) -> int:
    return -1 if value is None else value


@pytest.mark.broker
def test_random_lives_of_producers_are_told_as_kafka_tells_them(tmp_path: Path) -> None:
    """PS-1 to PS-32, in every order: each answer, the whole state, each snapshot's bytes."""
    scripts = [list(a_life(random.Random(number))) for number in range(LIVES)]
    lines = []
    for number, script in enumerate(scripts):
        lines += [f"open {tmp_path / 'theirs' / str(number)} {TIMEOUT} {EXPIRATION}", *script]
    (tmp_path / "script").write_text("".join(f"{line}\n" for line in lines))
    classes = compile_java("4.2.0", PROGRAM, "ProducerLives")
    done = run_java("4.2.0", "ProducerLives", str(tmp_path / "script"), classes=classes)
    assert done.returncode == 0, done.stderr
    theirs = iter(done.stdout.splitlines())
    said: dict[str, int] = {}
    for number, script in enumerate(scripts):
        life = Life(tmp_path / "ours" / str(number))
        assert next(theirs) == f"ok | {life.state()}"
        for line in script:
            expected = next(theirs)
            assert life.told(line) == expected, f"life {number}: {line}"
            kind = expected.split(" | ")[0]
            said[kind] = said.get(kind, 0) + 1
    assert set(ERRORS.values()) <= set(said)
    assert said["ok"] > sum(said[error] for error in ERRORS.values()) / 2
