"""The response to a request that failed is the one that Kafka's own request makes."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.decoders.schema_text import NEWEST
from tests.kafka_broker import compile_java, run_java
from tests.server.hostile import Frames
from workbench.record.message_schema import Field, Struct, message
from workbench.runtime.error_codes import ErrorCode
from workbench.server.handlers.error_responses import error_response
from workbench.server.protocol import api_keys as apis
from workbench.server.protocol.api import Api
from workbench.server.protocol.api_keys import API_KEYS
from workbench.server.protocol.frames import Request

SOURCE = Path(__file__).with_name("ErrorResponses.java").read_text()
CODE = ErrorCode.INVALID_REQUEST
EACH = 5  # requests of a version
REMOVED = {apis.PRODUCE: 3, apis.CREATE_TOPICS: 2, apis.DELETE_TOPICS: 1, apis.DESCRIBE_CONFIGS: 1,
           apis.DESCRIBE_LOG_DIRS: 1, apis.OFFSET_FOR_LEADER_EPOCH: 2}  # fmt: skip
"""The first version that Kafka 4 has."""
SOUND = {"acks": -1, "sessionId": 0, "operation": 3, "permissionType": 3, "resourceType": 2,
         "resourcePatternType": 3, "resourceTypeFilter": 2, "patternTypeFilter": 3}  # fmt: skip
"""Fields whose other values Kafka does not take, or repeats."""
OTHERWISE = {
    apis.LIST_PARTITION_REASSIGNMENTS: "topics",  # without error codes
    apis.DESCRIBE_USER_SCRAM_CREDENTIALS: "results",  # without names of users
}
"""What Kafka lists beside the error that ends the request."""

OF_PARTITIONS = ("partitions", "partitionResponses", "topics", "responses")
Values = dict[str, Any]


class Asked(Frames):
    """Requests that Kafka takes."""

    def values(self, api: Api, version: int) -> dict[str, Any]:
        return self._struct(api.request.struct(version))

    def _value(self, of: Field) -> Any:
        return self._item(of) if of.name == "records" else super()._value(of)

    def _struct(self, of: Struct) -> dict[str, Any]:
        made = super()._struct(of)
        return made | {name: value for name, value in SOUND.items() if name in made}


def rows(value: dict[str, Any], above: tuple[Any, ...] = ()) -> set[Any]:
    """Return the innermost elements with the fields of those around them, without words.

    Kafka's maps reorder and merge what was asked for twice, and drop topics without partitions.
    """
    own = [(name, repr("" if each is None and name == "name" else each))
           for name, each in value.items() if name != "errorMessage"]  # fmt: skip
    inner = [each for each in value.values() if isinstance(each, list)]
    if not any(isinstance(item, dict) for each in inner for item in each):
        return {(*above, *own)}
    shown = tuple(each for each in own if not each[1].startswith("["))
    return set().union(*(rows(item, (*above, *shown)) for each in inner for item in each))


def plain(value: dict[str, Any]) -> tuple[Values, set[Any]]:
    """Return a response's own fields, and what it says of those partitions that there are."""
    own = {name: each for name, each in value.items() if not isinstance(each, list)}
    own.pop("errorMessage", None)
    kept = {row for row in rows(value) if not any((name, "[]") in row for name in OF_PARTITIONS)}
    return own, kept


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Api, int, Any, Any]]:
    """API, version, and Kafka's and our response to each of the requests."""
    asked, lines = Asked(Random(5).randrange(100)), []
    requests = [
        (api, version, asked.values(api, version))
        for api in API_KEYS.values()
        for version in range(REMOVED.get(api, api.lowest), api.highest + 1)
        for _ in range(EACH)
    ]
    for api, version, values in requests:
        lines.append(f"{api.key} {version} {int(CODE)} {api.request.encode(values, version).hex()}")
    path = tmp_path_factory.mktemp("requests") / "lines"
    path.write_text("".join(f"{line}\n" for line in lines))
    classes = compile_java(NEWEST, SOURCE, "ErrorResponses")
    done = run_java(NEWEST, "ErrorResponses", str(path), classes=classes)
    assert done.returncode == 0, done.stderr
    theirs = [bytes.fromhex(line) for line in done.stdout.split("\n")[:-1]]
    assert len(theirs) == len(requests)
    found = []
    for (api, version, values), their in zip(requests, theirs, strict=True):
        data = api.request.encode(values, version)
        request = Request(api, version, 0, None, api.request.decode(data, version)[0], 0)
        ours = api.response.encode(error_response(request, CODE), version)
        kafkas, own = (api.response.decode(each, version)[0] for each in (their, ours))
        found.append((api, version, kafkas, own))
    return found


@pytest.mark.parametrize("api", API_KEYS.values(), ids=lambda api: api.name)
def test_it_says_what_kafka_says(api: Api, answered: list[tuple[Api, int, Any, Any]]) -> None:
    responses = [each[1:] for each in answered if each[0] is api]
    assert len(responses) >= EACH
    for version, theirs, ours in responses:
        theirs.pop(OTHERWISE.get(api), None)
        ours.pop(OTHERWISE.get(api), None)
        assert plain(ours) == plain(theirs), version


def test_versions_that_kafka_4_has_removed_are_answered_too() -> None:
    asked = {"topicNames": ["t", "u"]}
    request = Request(apis.DELETE_TOPICS, 0, 0, None, asked, 0)
    assert error_response(request, CODE) == {
        "responses": [{"name": "t", "errorCode": CODE}, {"name": "u", "errorCode": CODE}]
    }
    assert message("DeleteTopicsRequest").lowest == 0
