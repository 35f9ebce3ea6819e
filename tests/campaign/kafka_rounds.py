"""A round that asks Kafka itself: its record classes about mutated batches.

It takes a Java machine and seconds to start it: the campaign runs them, its minute does not.
"""

import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Final

import workbench as wb
from tests.campaign.bases import choose_base
from tests.campaign.log_mutations import LOG_MUTATIONS, entries_of
from tests.campaign.oracle import LARGEST, has_right_crc, records_of
from tests.kafka_records import Answer, ask, hexed

MOST_BATCHES: Final = 400
LARGEST_BATCH: Final = 20_000  # bytes
LARGEST_OFFSET: Final = 2**63 - 1
KINDS: Final = tuple(kind for kind in LOG_MUTATIONS if kind not in {"bomb", "place in the log"})
BROKER_READING_S: Final = 40.0


class UnlikeKafkaError(AssertionError):
    """A scan gives of a batch what Kafka's reader does not, or the other way round."""


def ask_kafka(folder: Path, seed: int) -> None:
    """Mutate batches, and hold what a scan gives of each against what Kafka's classes read.

    Raises:
        UnlikeKafkaError: see there.
    """
    rng = Random(seed)
    batches: list[bytes] = []
    while len(batches) < MOST_BATCHES:
        batches += mutated_batches(folder, rng)
    answers = ask([f"read records={hexed(batch)}" for batch in batches])
    unlike = [
        f"Kafka: {said(answer)}; a scan: {given}; {batch[:200].hex()}"
        for batch, answer in zip(batches, answers, strict=True)
        if not agrees(batch, answer, given := scanned(folder / "one-0", batch))
    ]
    if unlike:
        raise UnlikeKafkaError(f"{len(unlike)} of {len(batches)}: {unlike[0]}")


def mutated_batches(folder: Path, rng: Random) -> list[bytes]:
    """Return single batches with valid CRCs, out of a directory whose logs were mutated."""
    base = choose_base(folder, rng)
    copy = folder / f"copy-{rng.getrandbits(64)}"
    base.copy(folder, copy)
    found: list[bytes] = []
    for path in sorted(copy.rglob("*.log")):
        if path.stat().st_size > LARGEST:
            continue
        data = path.read_bytes()
        for _ in range(8):
            data = LOG_MUTATIONS[rng.choice(KINDS)](data, rng)
        entries = [data[entry.start : entry.end] for entry in entries_of(data)]
        found += [
            entry
            for entry in entries
            if len(entry) <= LARGEST_BATCH and entry[16] <= 2 and has_right_crc(entry)
        ]
    return rng.sample(found, min(len(found), 40))


def scanned(partition: Path, batch: bytes) -> list[tuple[int, int]]:
    """Return offset and timestamp of what a scan gives of one batch, alone in a log."""
    partition.mkdir(exist_ok=True)
    (partition / f"{0:020}.log").write_bytes(batch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.CorruptDataWarning)
        scan = wb.open_log_directory(partition).scan(
            columns=["offset", "timestamp"], include_control=True
        )
        table = scan.to_arrow()
    times = table["timestamp"].cast("int64").to_pylist()
    stamps = [-1 if time is None else time for time in times]
    return list(zip(table["offset"].to_pylist(), stamps, strict=True))


def said(answer: Answer) -> str:
    """Return Kafka's answer in short."""
    return answer.error or " ".join(",".join(word.split(",")[:2]) for word in answer.words[:5])


def agrees(batch: bytes, answer: Answer, given: list[tuple[int, int]]) -> bool:
    """Whether a scan gave what Kafka reads, and nothing that Kafka refuses.

    What a consumer skips is not read: offsets below 0, or not above those before. Nor is the
    largest offset there is, which a scan reports: a log that has it ends at an offset below 0.

    A batch that is not sound may be left out, though Kafka's reader takes it: a message with bytes
    left over, for one. Where its records do not ascend, a scan gives as many of them as a consumer
    gets, or more: it leaves out the one offset that contradicts the others, after which a consumer
    skips what follows.
    """
    if answer.error == "OutOfMemoryError":  # a size that Kafka trusted: nobody knows what follows
        return True
    if answer.error is not None:
        return not given
    all_read: list[tuple[int, int]] = []
    read: list[tuple[int, int]] = []
    for word in answer.words:
        offset, timestamp = (int(part) for part in word.split(",")[:2])
        all_read.append((offset, timestamp))
        if (read[-1][0] if read else -1) < offset < LARGEST_OFFSET:
            read.append((offset, timestamp))
    if given == read:
        return True
    if records_of(batch)[1]:
        return False
    ascends = all(before[0] < after[0] for before, after in pairwise(given))
    return not given or (ascends and set(given) <= set(all_read) and len(given) >= len(read))


KAFKA_ROUNDS: Final[dict[str, Callable[[Path, int], None]]] = {
    "ask Kafka": ask_kafka,
}
"""By name."""
