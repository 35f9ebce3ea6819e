"""What we declare of requests and responses is what the classes of the newest Kafka say."""

from pathlib import Path
from random import Random

import pytest

from tests.decoders.schema_text import NEWEST, text_of
from tests.kafka_broker import compile_java, run_java
from tests.server.hostile import Frames
from workbench.server.protocol.api_keys import API_KEYS
from workbench.server.protocol.frames import (
    SIZE,
    UnknownRequestError,
    UnsupportedApiVersionsError,
    read_request,
)

SOURCE = (Path(__file__).parents[1] / "decoders" / "Schemas.java").read_text()
MESSAGES = {
    message.name: (api, message)
    for api in API_KEYS.values()
    for message in (api.request, api.response)
}


@pytest.fixture(scope="module")
def theirs() -> dict[str, dict[int, str]]:
    """Every request and response: fields by version."""
    classes = compile_java(NEWEST, SOURCE, "Schemas")
    done = run_java(NEWEST, "Schemas", "requests", classes=classes)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[int, str]] = {}
    for line in done.stdout.splitlines():
        name, which, text = line.split(" ", 2)
        if which.isdecimal():
            found.setdefault(name.removesuffix("Data"), {})[int(which)] = text
    assert len(found) > 150
    return found


RENAMED = {"TxnOffsetCommitRequest": ("generationidormemberepoch", "generationid")}
"""Fields that 4.4 calls otherwise: its name, and that of 4.3."""


def plain(text: str) -> str:
    """Return fields without what differs in names only."""
    return text.replace("_", "")


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_each_version_has_the_fields_that_kafka_gives_it(
    name: str, theirs: dict[str, dict[int, str]]
) -> None:
    api, message = MESSAGES[name]
    assert message.name in theirs
    shared = [v for v in theirs[name] if api.lowest <= v <= api.highest]
    assert len(shared) >= 1
    new, old = RENAMED.get(name, ("", ""))
    for version in shared:
        fields = plain(theirs[name][version]).replace(new, old)
        assert plain(text_of(message.struct(version))) == fields, version


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_every_version_is_read_as_it_is_written(name: str) -> None:
    api, message = MESSAGES[name]
    for version in range(api.lowest, api.highest + 1):
        data = message.encode({}, version)
        values, end = message.decode(data, version)
        assert end == len(data)
        assert b"".join(message.encode_parts(values, version)) == data


def test_a_hundred_thousand_mutated_frames_are_read_or_refused() -> None:
    """`test_hostile_clients` sends fewer of them through sockets, the campaign millions."""
    rng, frames = Random(7), Frames(7)
    refused, largest = 0, 0
    for _ in range(1_000):
        sound = frames.next()[SIZE.size :]
        for _ in range(100):
            mutated = bytearray(sound)
            for _ in range(rng.randint(1, 4)):
                kind, at = rng.random(), rng.randrange(len(mutated) + 1)
                if kind < 0.6 and at < len(mutated):
                    mutated[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
                elif kind < 0.8:
                    del mutated[at:]
                else:
                    mutated[at:at] = rng.randbytes(rng.randrange(1, 9))
            try:
                request = read_request(bytes(mutated))
            except (UnknownRequestError, UnsupportedApiVersionsError):
                refused += 1
            else:
                largest = max(largest, len(repr(request.values)))
    assert 10_000 < refused < 90_000
    assert largest < 1 << 20
