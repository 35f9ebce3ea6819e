"""A directory with one kind of damage in each topic, made from bytes that a real broker wrote.

Every topic but the transactional ones is written alike: 24 batches of three records in four
segments. Then the broker is stopped, the clean shutdown file is removed, as after a crash, and each
topic gets the damage that it is named for. ``damaged.tsv`` lists every edit.
"""

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from client import Client, Record
from people import MONDAY
from shop import BROKER_SETTINGS, VERSION

from tests.kafka_broker import Broker

SMALL = {"internal.segment.bytes": "2600", "index.interval.bytes": "400"}
BATCHES = 24
LENGTH_AT, LENGTH_END, MAGIC_AT, RECORDS_AT = 8, 12, 16, 61  # of a batch, magic 2


class Place(NamedTuple):
    """Where a file was changed: after ``position``, or as a whole if that is -1."""

    file: str
    position: int


class Partition:
    """The files of one partition, to be damaged."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder = folder
        self.rng = rng
        self.logs = sorted(folder.glob("*.log"))

    @property
    def middle(self) -> Path:
        """The second segment's log."""
        return self.logs[1]

    @property
    def last(self) -> Path:
        """The active segment's log."""
        return self.logs[-1]

    def batches(self, log: Path) -> list[tuple[int, int]]:
        """Return (position, size) of every batch."""
        data = log.read_bytes()
        found = []
        position = 0
        while position < len(data):
            (length,) = struct.unpack_from(">i", data, position + LENGTH_AT)
            found.append((position, LENGTH_END + length))
            position += LENGTH_END + length
        return found

    def write(self, file: Path, position: int, new: bytes) -> Place:
        """Overwrite bytes at a position."""
        data = bytearray(file.read_bytes())
        data[position : position + len(new)] = new
        file.write_bytes(data)
        return Place(file.name, position)

    def append(self, file: Path, new: bytes) -> Place:
        """Write bytes after the file's end."""
        return self.write(file, file.stat().st_size, new)

    def cut(self, file: Path, size: int) -> Place:
        """Shorten a file to a size."""
        file.write_bytes(file.read_bytes()[:size])
        return Place(file.name, size)

    def remove(self, file: Path) -> Place:
        """Remove a file."""
        file.unlink()
        return Place(file.name, -1)

    def replace(self, file: Path, content: bytes) -> Place:
        """Give a file another content."""
        file.write_bytes(content)
        return Place(file.name, -1)

    def set_checkpoint(self, name: str, offset: int) -> Place:
        """Give this partition another offset in a checkpoint of the log directory."""
        file = self.folder.parent / name
        mine = f"{self.folder.name.removesuffix('-0')} 0 "
        lines = file.read_text().splitlines()[2:]
        entries = [line for line in lines if not line.startswith(mine)] + [f"{mine}{offset}"]
        file.write_text("\n".join(["0", str(len(entries)), *entries]) + "\n")
        return Place(f"../{name}", -1)


Damage = Callable[[Partition], list[Place]]


def healthy(_: Partition) -> list[Place]:
    """Nothing is wrong here."""
    return []


def flipped_byte(p: Partition) -> list[Place]:
    """One bit is flipped in a value of the third batch."""
    position = p.batches(p.middle)[2][0] + RECORDS_AT + 20
    byte = p.middle.read_bytes()[position] ^ 0x01
    return [p.write(p.middle, position, bytes([byte]))]


def huge_length(p: Partition) -> list[Place]:
    """The fourth batch says that it is longer than 1 GiB."""
    position = p.batches(p.middle)[3][0] + LENGTH_AT
    return [p.write(p.middle, position, b"\x40")]


def wrong_magic(p: Partition) -> list[Place]:
    """The second batch has magic 7."""
    return [p.write(p.middle, p.batches(p.middle)[1][0] + MAGIC_AT, b"\x07")]


def torn_tail(p: Partition) -> list[Place]:
    """The last batch lacks its last 20 bytes."""
    return [p.cut(p.last, p.last.stat().st_size - 20)]


def torn_header(p: Partition) -> list[Place]:
    """After the last batch come the first 30 bytes of another."""
    return [p.append(p.last, p.last.read_bytes()[:30])]


def zero_tail(p: Partition) -> list[Place]:
    """After the last batch come 512 zero bytes."""
    return [p.append(p.last, bytes(512))]


def garbage_tail(p: Partition) -> list[Place]:
    """After the last batch come 100 random bytes."""
    return [p.append(p.last, p.rng.randbytes(100))]


def cut_middle(p: Partition) -> list[Place]:
    """A segment that is not the last ends inside its last batch but one."""
    return [p.cut(p.middle, p.batches(p.middle)[-2][0] + 40)]


def missing_segment(p: Partition) -> list[Place]:
    """The second segment is gone with all its files."""
    return [p.remove(file) for file in sorted(p.folder.glob(f"{p.middle.stem}.*"))]


def swapped_batches(p: Partition) -> list[Place]:
    """The third and the fourth batch changed places: offsets run backwards, checksums hold."""
    data = p.middle.read_bytes()
    (at, size), (next_at, next_size) = p.batches(p.middle)[2:4]
    return [p.write(p.middle, at, data[next_at : next_at + next_size] + data[at : at + size])]


def doubled_batch(p: Partition) -> list[Place]:
    """The last batch is there twice."""
    at, size = p.batches(p.last)[-1]
    return [p.append(p.last, p.last.read_bytes()[at : at + size])]


def missing_index(p: Partition) -> list[Place]:
    """The offset index of the second segment is gone."""
    return [p.remove(p.middle.with_suffix(".index"))]


def missing_time_index(p: Partition) -> list[Place]:
    """The time index of the second segment is gone."""
    return [p.remove(p.middle.with_suffix(".timeindex"))]


def stale_index(p: Partition) -> list[Place]:
    """The offset index is from another log: its positions are not starts of batches."""
    other = p.logs[0].with_suffix(".index").read_bytes()
    entries = struct.iter_unpack(">ii", other)
    shifted = b"".join(struct.pack(">ii", offset + 1, place + 7) for offset, place in entries)
    return [p.replace(p.middle.with_suffix(".index"), shifted)]


def index_past_the_end(p: Partition) -> list[Place]:
    """The offset index has an entry that points past the end of the log."""
    return [p.append(p.middle.with_suffix(".index"), struct.pack(">ii", 1000, 1_000_000))]


def index_of_odd_size(p: Partition) -> list[Place]:
    """The offset index is three bytes longer than its entries."""
    return [p.append(p.middle.with_suffix(".index"), bytes(3))]


def index_out_of_order(p: Partition) -> list[Place]:
    """The first two entries of the offset index changed places."""
    index = p.middle.with_suffix(".index")
    data = index.read_bytes()
    return [p.write(index, 0, data[8:16] + data[:8])]


def time_index_out_of_order(p: Partition) -> list[Place]:
    """The first two entries of the time index changed places."""
    index = p.middle.with_suffix(".timeindex")
    data = index.read_bytes()
    return [p.write(index, 0, data[12:24] + data[:12])]


def time_index_in_the_future(p: Partition) -> list[Place]:
    """The last entry of the time index has a timestamp that no record has."""
    index = p.middle.with_suffix(".timeindex")
    return [p.write(index, index.stat().st_size - 12, struct.pack(">q", MONDAY + 10**10))]


def missing_transaction_index(p: Partition) -> list[Place]:
    """The transaction indexes are gone: nothing says what was aborted."""
    return [p.remove(file) for file in sorted(p.folder.glob("*.txnindex"))]


def wrong_transaction_index(p: Partition) -> list[Place]:
    """The first entry of the first transaction index has an unknown version."""
    return [p.write(min(p.folder.glob("*.txnindex")), 0, b"\x09")]


def wrong_snapshot(p: Partition) -> list[Place]:
    """A flipped byte in the newest producer snapshot: its checksum is wrong."""
    file = max(p.folder.glob("*.snapshot"))
    return [p.write(file, 12, bytes([file.read_bytes()[12] ^ 0xFF]))]


def garbage_epochs(p: Partition) -> list[Place]:
    """The entry of the leader epochs is not a pair of numbers."""
    return [p.replace(p.folder / "leader-epoch-checkpoint", b"0\n1\nno numbers\n")]


def epochs_ahead(p: Partition) -> list[Place]:
    """A leader epoch starts past the end of the log."""
    return [p.replace(p.folder / "leader-epoch-checkpoint", b"0\n2\n0 0\n7 5000\n")]


def garbage_metadata(p: Partition) -> list[Place]:
    """The topic id in partition.metadata is invalid."""
    content = b"version: 0\ntopic_id: not-an-id\n"
    return [p.replace(p.folder / "partition.metadata", content)]


def leftovers(p: Partition) -> list[Place]:
    """Files of an interrupted cleaning are left, and one that is not of Kafka."""
    content = p.logs[0].read_bytes()
    copies = [Path(f"{p.logs[0]}{suffix}") for suffix in (".deleted", ".cleaned", ".swap")]
    note = p.replace(p.folder / "notes.txt", b"who put this here?\n")
    return [*(p.replace(copy, content) for copy in copies), note]


def checkpoints_ahead(p: Partition) -> list[Place]:
    """Recovery point and high watermark are far past the end of the log."""
    return [
        p.set_checkpoint("recovery-point-offset-checkpoint", 100_000),
        p.set_checkpoint("replication-offset-checkpoint", 100_000),
    ]


def log_start_ahead(p: Partition) -> list[Place]:
    """The log is said to start past its end."""
    return [p.set_checkpoint("log-start-offset-checkpoint", 5000)]


PLAIN: tuple[Damage, ...] = (
    healthy,
    flipped_byte,
    huge_length,
    wrong_magic,
    torn_tail,
    torn_header,
    zero_tail,
    garbage_tail,
    cut_middle,
    missing_segment,
    swapped_batches,
    doubled_batch,
    missing_index,
    missing_time_index,
    stale_index,
    index_past_the_end,
    index_of_odd_size,
    index_out_of_order,
    time_index_out_of_order,
    time_index_in_the_future,
    garbage_epochs,
    epochs_ahead,
    garbage_metadata,
    leftovers,
    checkpoints_ahead,
    log_start_ahead,
)
TRANSACTIONAL: tuple[Damage, ...] = (
    missing_transaction_index,
    wrong_transaction_index,
    wrong_snapshot,
)


def topic_of(damage: Damage) -> str:
    """Return the topic's name: the function's, with dashes."""
    return damage.__name__.replace("_", "-")


def _write(client: Client, topic: str, producer: str, rng: random.Random) -> None:
    for batch in range(BATCHES):
        for record in range(3):
            at = MONDAY + batch * 60_000 + record * 1000
            code = rng.randbytes(30).hex().encode()
            value = b'{"batch":%d,"record":%d,"code":"%s"}' % (batch, record, code)
            if producer == "transactional" and record == 0:
                client.call("begin", producer)
            client.send(producer, topic, 0, Record(b"key-%02d" % rng.randrange(40), value, at))
        if producer == "transactional":
            client.call("abort" if batch % 5 == 2 else "commit", producer)
        else:
            client.call("flush", producer)


def make_damaged(working: Path, seed: int) -> tuple[Path, str]:
    """Write, stop, damage; return the log directory and the text of ``damaged.tsv``."""
    rng = random.Random(seed)  # noqa: S311
    broker = Broker(VERSION, working, BROKER_SETTINGS)
    with broker, Client(broker) as client:
        settings = {"linger.ms": "60000", "enable.idempotence": "false"}
        client.call("producer", "plain", settings=settings)
        client.call("producer", "transactional", settings={"transactional.id": "t"})
        client.call("init", "transactional")
        for producer, damages in (("plain", PLAIN), ("transactional", TRANSACTIONAL)):
            for damage in damages:
                client.call("topic", topic_of(damage), 1, settings=SMALL)
                _write(client, topic_of(damage), producer, rng)
    (broker.data / ".kafka_cleanshutdown").unlink()
    lines = ["topic\tfile\tposition\twhat"]
    for damage in PLAIN + TRANSACTIONAL:
        topic, what = topic_of(damage), (damage.__doc__ or "").removesuffix(".")
        partition = Partition(broker.data / f"{topic}-0", rng)
        places = damage(partition)
        lines += [f"{topic}\t{file}\t{position}\t{what}" for file, position in places]
    return broker.data, "\n".join(lines) + "\n"
