"""Which remote segment is read at an offset: held equal to Kafka's own cache on random events."""

import random
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from tests.kafka_broker import compile_java, run_java
from workbench.files.leader_epochs import EpochEntry
from workbench.files.text import format_uuid
from workbench.inspection.remote_tier.metadata_cache import MetadataCache
from workbench.inspection.remote_tier.remote_log import (
    Gap,
    RemoteContents,
    RemoteLog,
    RemoteRead,
    joined,
)
from workbench.inspection.remote_tier.segment_metadata import (
    COPY_STARTED,
    RemoteSegmentMetadata,
    sorted_epochs,
)

VERSION = "4.2.0"
PACKAGE = "org.apache.kafka.server.log.remote.metadata.storage"
SOURCE = Path(__file__).with_name("RemoteSegments.java").read_text()
EPOCHS = range(3)
OFFSETS = range(0, 60, 2)


def events(chance: random.Random) -> Iterator[str]:
    """Yield the events of one partition: copies that overlap, states in any order."""
    known: list[str] = []
    for number in range(chance.randrange(3, 14)):
        if not known or chance.random() < 0.7:
            known.append(format_uuid(UUID(int=number + 1)))
            start = chance.randrange(40)
            end = start + chance.randrange(20)
            cuts = sorted([*chance.sample(range(start, end + 1), min(end - start, 2)), start])
            epochs = sorted(chance.sample(EPOCHS, len(set(cuts))))
            pairs = zip(epochs, sorted(set(cuts)), strict=True)
            yield f"copy {known[-1]} {start} {end} " + " ".join(f"{e} {o}" for e, o in pairs)
            if chance.random() < 0.9:
                yield f"update {known[-1]} 1"
        else:
            yield f"update {chance.choice(known)} {chance.choice([1, 1, 2, 2, 3])}"


def ours(script: list[str]) -> list[str]:
    """Apply a script to our cache; return what it finds."""
    cache = MetadataCache()
    found = []
    for line in script:
        kind, *words = line.split(" ")
        if kind == "new":
            cache = MetadataCache()
        elif kind == "find":
            metadata, _ = cache.find(int(words[0]), int(words[1]))
            found.append("-" if metadata is None else metadata.segment_id)
        elif kind == "highest":
            highest = cache.highest_offset(int(words[0]))
            found.append("-" if highest is None else str(highest))
        elif kind == "copy":
            numbers = list(map(int, words[1:]))
            epochs = sorted_epochs(zip(numbers[2::2], numbers[3::2], strict=True))
            cache.add(RemoteSegmentMetadata(words[0], numbers[0], numbers[1], epochs, COPY_STARTED))
        else:
            cache.update(words[0], int(words[1]), 0, 0)
    return found


def test_every_offset_is_found_in_the_segment_that_kafkas_own_cache_names(tmp_path: Path) -> None:
    chance = random.Random(5)
    script = []
    for _ in range(300):
        script += ["new", *events(chance)]
        script += [f"find {epoch} {offset}" for epoch in EPOCHS for offset in OFFSETS]
        script += [f"highest {epoch}" for epoch in EPOCHS]
    file = tmp_path / "script"
    file.write_text("\n".join(script))
    classes = compile_java(VERSION, SOURCE, "RemoteSegments")
    done = run_java(VERSION, f"{PACKAGE}.RemoteSegments", str(file), classes=classes)
    assert done.returncode == 0, done.stderr
    theirs = done.stdout.split()
    assert theirs.count("-") < len(theirs) * 0.9
    assert ours(script) == theirs


class Contents:
    """What a tier would hold."""

    def __init__(self, cache: MetadataCache) -> None:
        self.cache = cache

    def load(self) -> RemoteContents:
        return RemoteContents(cache=self.cache)


def test_parts_of_a_remote_log_are_what_the_cache_finds_offset_by_offset() -> None:
    chance = random.Random(8)
    for _ in range(200):
        cache = MetadataCache()
        for line in events(chance):
            kind, name, *numbers = line.split(" ")
            if kind == "copy":
                start, end, *pairs = map(int, numbers)
                epochs = sorted_epochs(zip(pairs[::2], pairs[1::2], strict=True))
                cache.add(RemoteSegmentMetadata(name, start, end, epochs, COPY_STARTED))
            else:
                cache.update(name, int(numbers[0]), 0, 0)
        lineage = [EpochEntry(epoch, at) for epoch, at in ((0, 5), (1, 20), (2, 31))]
        low, high = chance.randrange(20), chance.randrange(20, 70)
        parts = list(joined(RemoteLog(Contents(cache)).parts(lineage, low, high)))
        last = max((each.end_offset for each in cache.segments.values()), default=-1)
        at = low
        for part in parts:
            assert part.low == at
            for offset in range(part.low, part.high):
                epoch = max((e.epoch for e in lineage if e.start_offset <= offset), default=None)
                metadata = None if epoch is None else cache.find(epoch, offset)[0]
                assert isinstance(part, Gap) == (metadata is None)
                if isinstance(part, RemoteRead):
                    assert part.metadata is metadata
            at = part.high
        assert at == max(low, min(high, last + 1))
