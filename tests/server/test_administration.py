"""What programs of others ask beside records: configurations, quorum, internal topics, refusals."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient

import workbench
from tests.cli.program import run
from tests.server.admin_requests import (
    ACL,
    LISTENER,
    VOTER,
    election,
    reassignment,
    update,
)
from tests.server.asking import Asker, Values
from tests.server.conftest import SHOP
from tests.server.consumers import consuming, poll_until, producing
from workbench.errors import ServerError
from workbench.runtime.error_codes import ErrorCode
from workbench.server.handlers import fetch_requests
from workbench.server.protocol import api_keys as apis
from workbench.server.server import Server

FEW = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}
TOPIC = 2  # resource type


def _configs(server: Server, topic: str) -> dict[str, Values]:
    asked = {"resourceType": TOPIC, "resourceName": topic, "configurationKeys": None}
    request = {"resources": [asked], "includeSynonyms": True, "includeDocumentation": False}
    with Asker(server.bootstrap_servers) as asker:
        (result,) = asker.ask(apis.DESCRIBE_CONFIGS, 4, request)["results"]
    return {each["name"]: each for each in result["configs"]}


def test_topic_configurations_are_not_read_only_so_that_mirror_maker_copies_them(
    shop: Server,
) -> None:
    """A broker says so even to a client without permission; MirrorMaker skips what is read-only."""
    configs = _configs(shop, "customers")
    assert configs["cleanup.policy"]["value"] == "compact"
    assert not any(each["readOnly"] for each in configs.values())


def test_the_internal_size_of_segments_has_its_own_name(shop: Server) -> None:
    configs = _configs(shop, "orders")
    shown = {
        name: (configs[name]["value"], configs[name]["configSource"])
        for name in ("internal.segment.bytes", "segment.bytes")
    }
    assert shown == {"internal.segment.bytes": ("131072", 1), "segment.bytes": ("1073741824", 5)}
    assert "internal.segment.bytes" not in _configs(shop, "returns")


def test_groups_go_on_when_their_topic_was_deleted(tmp_path: Path) -> None:
    with workbench.serve(tmp_path, writable=True, config=FEW) as server:
        with producing(server) as producer:
            for number in range(10):
                producer.send("numbers", b"%d" % number)
        for group in ("same", "same", "other"):
            with consuming(server, "numbers", group_id=group) as consumer:
                assert len(poll_until(consumer, 10)) == 10
                consumer.commit()
            admin = KafkaAdminClient(bootstrap_servers=server.bootstrap_servers)
            admin.delete_topics(["__consumer_offsets"])
            admin.close()


def test_a_quorum_is_described_only_where_there_is_a_metadata_log(
    old: Server, shop: Server, tmp_path: Path
) -> None:
    """Without one, as a broker with ZooKeeper: a client does not retry for a minute."""
    metadata = {"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0}]}

    def offers(asker: Asker) -> bool:
        version = {"clientSoftwareName": "a", "clientSoftwareVersion": "1"}
        keys = asker.ask(apis.API_VERSIONS, 3, version)["apiKeys"]
        return any(each["apiKey"] == apis.DESCRIBE_QUORUM.key for each in keys)

    with Asker(old.bootstrap_servers) as asker:
        assert not offers(asker)
        refused = asker.ask(apis.DESCRIBE_QUORUM, 2, {"topics": [metadata]})
        assert refused["errorCode"] == ErrorCode.UNSUPPORTED_VERSION
    with workbench.serve(tmp_path, writable=True) as new:
        for server in (shop, new):
            with Asker(server.bootstrap_servers) as asker:
                assert offers(asker)
                (topic,) = asker.ask(apis.DESCRIBE_QUORUM, 2, {"topics": [metadata]})["topics"]
                assert topic["partitions"][0]["leaderId"] == server.catalog.node_id


CREATED = {
    "name": "t",
    "numPartitions": 1,
    "replicationFactor": 1,
    "assignments": [],
    "configs": [],
}
REFUSED: Mapping[Any, tuple[int, Values, str]] = {
    apis.CREATE_TOPICS: (7, {"topics": [CREATED], "timeoutMs": 1, "validateOnly": False}, "topics"),
    apis.DELETE_TOPICS: (
        6, {"topics": [{"name": "orders", "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}], "timeoutMs": 1},
        "responses",
    ),
    apis.INCREMENTAL_ALTER_CONFIGS: (
        1,
        {
            "resources": [{"resourceType": TOPIC, "resourceName": "orders", "configs": []}],
            "validateOnly": False,
        },
        "responses",
    ),
}  # fmt: skip


@pytest.mark.parametrize("api", REFUSED, ids=lambda api: api.name)
def test_a_refusal_of_a_read_only_server_says_why(shop: Server, api: Any) -> None:
    version, asked, results = REFUSED[api]
    with Asker(shop.bootstrap_servers) as asker:
        (result,) = asker.ask(api, version, asked)[results]
    assert result["errorCode"] == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert "--writable" in result["errorMessage"]


def test_a_locked_directory_is_called_locked_before_recover_is_offered(tmp_path: Path) -> None:
    copy = tmp_path / "shop"
    shutil.copytree(SHOP, copy)
    with workbench.serve(copy, writable=True):
        for recover in (False, True):
            with pytest.raises(ServerError, match="is locked") as refused:
                workbench.serve(copy, writable=True, recover=recover).start()
            assert "--recover" not in str(refused.value)
        said = run("serve", "--writable", copy)
    assert (said.code, said.err.count("is locked")) == (3, 1)


LEFT_OUT: Mapping[str, tuple[int, ...]] = {
    "share groups": (76, 77, 78, 79, 90, 91, 92),
    "streams groups": (88, 89),
    "changes of quotas": (49,),
    "changes of SCRAM users": (51,),
    "metrics of clients": (71, 72),
}
"""What the page names → numbers of the kinds of request."""


def test_what_serve_is_not_is_not_offered_and_stands_on_the_page(tmp_path: Path) -> None:
    page = (SHOP.parents[1] / "docs" / "serve.md").read_text()
    table = page.split("## What `serve` is not")[1].split("\n## ")[0]
    version = {"clientSoftwareName": "a", "clientSoftwareVersion": "1"}
    with (
        workbench.serve(tmp_path, writable=True) as server,
        Asker(server.bootstrap_servers) as asker,
    ):
        offered = {each["apiKey"] for each in asker.ask(apis.API_VERSIONS, 3, version)["apiKeys"]}
    for name, keys in LEFT_OUT.items():
        assert f"| {name}" in table
        assert offered.isdisjoint(keys)


REFUSED_AT_ONCE: Mapping[str, tuple[Any, int, Values, str]] = {
    "reassignments": (
        apis.ALTER_PARTITION_REASSIGNMENTS, 1, reassignment("t", 0, [2]),
        "INVALID_REPLICA_ASSIGNMENT",
    ),
    "another leader": (
        apis.ELECT_LEADERS, 2, election(0, [{"topic": "t", "partitions": [0]}]),
        "ELECTION_NOT_NEEDED",
    ),
    "another voter": (
        apis.ADD_RAFT_VOTER, 0, {**VOTER, "timeoutMs": 1_000, "listeners": [LISTENER]},
        "UNSUPPORTED_VERSION",
    ),
    "other levels of features": (
        apis.UPDATE_FEATURES, 2, update("transaction.version", 0), "INVALID_UPDATE_VERSION"
    ),
    "ACLs": (apis.CREATE_ACLS, 3, {"creations": [ACL]}, "SECURITY_DISABLED"),
    "delegation tokens": (
        apis.CREATE_DELEGATION_TOKEN, 3,
        {
            "ownerPrincipalType": "", "ownerPrincipalName": "", "renewers": [],
            "maxLifetimeMs": 1_000,
        },
        "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
    ),
}  # fmt: skip
"""What the page names → a request, its version, and the error in its response."""


def test_what_is_offered_and_left_out_is_refused_as_by_a_broker_that_is_alone(
    tmp_path: Path,
) -> None:
    page = (SHOP.parents[1] / "docs" / "serve.md").read_text()
    table = page.split("## What `serve` is not")[1].split("\n## ")[0]
    topics = {"topics": [{**CREATED}], "timeoutMs": 10_000, "validateOnly": False}
    with (
        workbench.serve(tmp_path, writable=True, config=FEW) as server,
        Asker(server.bootstrap_servers) as asker,
    ):
        asker.ask(apis.CREATE_TOPICS, 7, topics)
        for name, (api, version, asked, error) in REFUSED_AT_ONCE.items():
            assert f"| {name}" in table
            assert set(_errors(asker.ask(api, version, asked))) - {0} == {ErrorCode[error]}


def _errors(value: Any) -> Iterator[int]:
    """Yield every error code of a response."""
    if isinstance(value, list):
        for each in value:
            yield from _errors(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from [each] if name == "errorCode" else _errors(each)


@pytest.mark.parametrize("kind", [4, 8, 16, 32])
def test_what_cannot_be_configured_is_refused_at_once(tmp_path: Path, kind: int) -> None:
    """Brokers, loggers, metrics subscriptions and groups."""
    config = {"name": "any.name", "value": "1", "configOperation": 0}
    resource = {"resourceType": kind, "resourceName": "1", "configs": [config]}
    with (
        workbench.serve(tmp_path, writable=True) as server,
        Asker(server.bootstrap_servers) as asker,
    ):
        asked = {"resources": [resource], "validateOnly": False}
        (result,) = asker.ask(apis.INCREMENTAL_ALTER_CONFIGS, 1, asked)["responses"]
    assert result["errorCode"] == ErrorCode.INVALID_REQUEST


def test_a_request_that_takes_long_leaves_partitions_for_the_next(
    shop: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    partitions = [{"partitionIndex": number, "timestamp": 0} for number in range(3)]
    asked = {"replicaId": -1, "topics": [{"name": "orders", "partitions": partitions}]}

    def codes(asker: Asker) -> list[int]:
        (topic,) = asker.ask(apis.LIST_OFFSETS, 3, {**asked, "isolationLevel": 0})["topics"]
        return [each["errorCode"] for each in topic["partitions"]]

    with Asker(shop.bootstrap_servers) as asker:
        assert codes(asker) == [ErrorCode.NONE] * 3
        monkeypatch.setattr(fetch_requests, "_MOST_SECONDS", -1)
        assert codes(asker) == [ErrorCode.OFFSET_NOT_AVAILABLE] * 3
