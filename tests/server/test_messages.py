"""What we declare of requests and responses is what the classes of the newest Kafka say."""

from pathlib import Path

import pytest

from tests.decoders.schema_text import NEWEST, text_of
from tests.kafka_broker import compile_java, run_java
from workbench.record.message_schema import Message
from workbench.server.protocol.api_keys import API_KEYS

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


def plain(text: str) -> str:
    """Return fields without what differs in names only, or does not change the bytes written."""
    return text.replace("_", "").replace("?", "").replace("records:records", "records:bytes")


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_each_version_has_the_fields_that_kafka_gives_it(
    name: str, theirs: dict[str, dict[int, str]]
) -> None:
    api, message = MESSAGES[name]
    assert message.name in theirs
    shared = [v for v in theirs[name] if api.lowest <= v <= api.highest]
    assert len(shared) >= 1
    for version in shared:
        assert plain(ours(message, version)) == plain(theirs[name][version]), version


def ours(message: Message, version: int) -> str:
    flexible = message.flexible is not None and version >= message.flexible
    return text_of(message.fields, version, flexible=flexible)


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_every_version_is_read_as_it_is_written(name: str) -> None:
    api, message = MESSAGES[name]
    for version in range(api.lowest, api.highest + 1):
        data = message.encode({}, version)
        values, end = message.decode(data, version)
        assert end == len(data)
        assert b"".join(message.encode_parts(values, version)) == data
