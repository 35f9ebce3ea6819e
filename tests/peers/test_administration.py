"""Every call of the admin clients of Java and librdkafka, answered as by a broker of 4.2.

Among them are those that tools of operators make at their start: Kafbat UI, Redpanda Console,
kafka_exporter. Broker and server have the same directory.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    ElectionType,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from confluent_kafka.cimpl import NewPartitions, NewTopic

import workbench
from tests.kafka_broker import Broker, run_java
from tests.peers.java_peers import VERSION, compiled
from tests.peers.served import Outcome, assert_as_expected

pytestmark = pytest.mark.broker

_OF_A_BROKER: Final = "the engine takes what a broker's file sets from `--set`, and nothing else"
_OF_A_FILE: Final = "users and passwords are in the file that `--passwords` names"
REFUSED: Final = {
    "alterConfigs of the broker": _OF_A_BROKER,
    "alterConfigs of every broker": _OF_A_BROKER,
    "alterConfigs of a logger": "no loggers of a broker run here",
    "describeConfigs of loggers": "no loggers of a broker run here",
    "alterConfigs of a group": "the sessions of groups are configured with `--set`",
    "alterConfigs of metrics": "no metrics of clients are collected",
    "alterClientQuotas": "there are no quotas to set; those of the metadata log are read",
    "alterUserScramCredentials": _OF_A_FILE,
    "alterUserScramCredentials, deleted": _OF_A_FILE,
    "describeShareGroups, unknown": "no share groups",
    "listShareGroupOffsets, unknown": "no share groups",
    "alterShareGroupOffsets, unknown": "no share groups",
    "deleteShareGroupOffsets, unknown": "no share groups",
    "describeStreamsGroups, unknown": "no groups of the Streams protocol",
}
"""Calls of both clients that a broker answers and the server does not, by intent."""


class Sides(NamedTuple):
    """Where the broker is, and the server."""

    broker: str
    server: str


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    """Return a broker, and a server of a copy of its directory as it was before the last start."""
    folder = tmp_path_factory.mktemp("administration")
    settings = {"log.cleaner.enable": "false", "offsets.topic.num.partitions": "2"}
    settings |= {"transaction.state.log.num.partitions": "2", "log.retention.ms": "-1"}
    broker = Broker(VERSION, folder / "broker", settings)
    with broker:
        fill(broker.bootstrap)
    copy = folder / "copy"
    shutil.copytree(broker.data, copy)
    lines = (broker.folder / "server.properties").read_text().splitlines()
    config = dict(line.split("=", 1) for line in lines)
    del config["log.dirs"]
    # The file has all that this broker was given; the rest are defaults of both.
    served = workbench.serve(copy, writable=True, config=config, defaults=True)
    with broker, served as server:
        yield Sides(broker.bootstrap, server.bootstrap_servers)


def fill(where: str) -> None:
    """Write a topic of two partitions, and commit offsets of a group in its middle."""
    admin = AdminClient({"bootstrap.servers": where})
    admin.create_topics([NewTopic("t", 2, 1)])["t"].result(30)
    producer = Producer({"bootstrap.servers": where})
    for number in range(100):
        producer.produce("t", b"%d" % number, partition=number % 2, timestamp=1_000_000 + number)
    assert producer.flush(30) == 0
    consumer = Consumer({"bootstrap.servers": where, "group.id": "readers"})
    offsets = [TopicPartition("t", 0, 20), TopicPartition("t", 1, 50)]
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


def _difference(ours: str, theirs: str) -> str:
    """Return both answers from a little before their first difference on."""
    at = max(0, len(os.path.commonprefix([ours, theirs])) - 200)  # noqa: RUF071 - of texts
    return f"{ours[at : at + 1000]}\n(the broker: {theirs[at : at + 1000]})"


def compared(sides: Sides, answers: Callable[[str], Mapping[str, str]]) -> dict[str, Outcome]:
    """Ask both; a call has passed if their answers are equal."""
    theirs, ours = (answers(where) for where in sides)
    return {
        name: Outcome(
            "passed" if theirs[name] == ours[name] else "failed",
            _difference(ours[name], theirs[name]),
        )
        for name in theirs
    }


def without_addresses(text: str) -> str:
    return re.sub(r"127\.0\.0\.1:\d+", "HOST", text)


# The client of librdkafka.


def test_every_call_of_librdkafka_is_answered_as_by_a_broker(sides: Sides) -> None:
    """What a broker allows and the server refuses is only validated, or taken back."""
    names = LIBRDKAFKA_REFUSED
    assert_as_expected(compared(sides, librdkafka_answers), {each: REFUSED[each] for each in names})


LIBRDKAFKA_REFUSED: Final = (
    "alterConfigs of the broker", "alterUserScramCredentials", "alterUserScramCredentials, deleted"
)  # fmt: skip


def librdkafka_answers(where: str) -> dict[str, str]:
    admin = AdminClient({"bootstrap.servers": where})
    return {
        name: without_addresses(told(lambda call=call: call(admin)))  # type: ignore[misc]
        for name, call in LIBRDKAFKA.items()
    }


OF_A_START: Final = {"port", "leader_epoch"}
"""What is another at each start of a broker."""


def told(call: Callable[[], Any]) -> str:
    """Return an answer as text, or the error."""
    try:
        return shown(call())
    except KafkaException as error:
        return shown(error)


def shown(value: Any) -> str:
    """Return the text of an answer: its public attributes, sorted."""
    if isinstance(value, Future):
        return told(lambda: value.result(30))
    if isinstance(value, KafkaException):
        return shown(value.args[0])
    if isinstance(value, KafkaError):
        return value.name()  # the texts are in our words
    if isinstance(value, Mapping):
        texts = sorted(f"{shown(key)}: {shown(each)}" for key, each in value.items())
        return "{" + ", ".join(texts) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return "[" + ", ".join(sorted(map(shown, value))) + "]"
    if type(value).__module__.startswith("confluent_kafka") and not isinstance(value, int):
        if isinstance(value, TopicPartition | ConfigResource):
            return str(value)
        names = {name for name in vars(value) if not name.startswith("_")} - OF_A_START
        if names:
            return shown({name: getattr(value, name) for name in names})
    return str(value)


def _broker_config(admin: AdminClient) -> Any:
    broker = ConfigResource(ResourceType.BROKER, "1")
    entries = admin.describe_configs([broker])[broker].result(30)
    of_server = {"log.dirs", "listeners", "advertised.listeners"}
    return {name: entry.value for name, entry in entries.items() if name not in of_server}


def _altered(kind: ResourceType, name: str, key: str, value: str) -> Callable[[AdminClient], Any]:
    def alter(admin: AdminClient) -> Any:
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(kind, name, incremental_configs=[entry])
        is_tried = kind == ResourceType.BROKER
        futures = admin.incremental_alter_configs([resource], validate_only=is_tried)
        return list(futures.values())

    return alter


_OFFSETS: Final = ConsumerGroupTopicPartitions("readers", [TopicPartition("t", 0, 7)])
_PATTERN: Final = (ResourcePatternType.LITERAL, "User:a", "*")
_ACL: Final = (ResourceType.TOPIC, "t", *_PATTERN, AclOperation.READ, AclPermissionType.ALLOW)
_BOB: Final = UserScramCredentialUpsertion(
    "bob", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"secret", b"salt"
)
LIBRDKAFKA: Final[dict[str, Callable[[AdminClient], Any]]] = {
    "describe_cluster": lambda admin: admin.describe_cluster(include_authorized_operations=True),
    "describe_configs of the broker": _broker_config,
    "list_topics": lambda admin: {
        name: len(topic.partitions) for name, topic in admin.list_topics(timeout=180).topics.items()
    },
    "describe_topics": lambda admin: admin.describe_topics(
        TopicCollection(["t", "none"]), include_authorized_operations=True
    ),
    "list_offsets": lambda admin: admin.list_offsets(
        {
            TopicPartition("t", 0): OffsetSpec.earliest(),
            TopicPartition("t", 1): OffsetSpec.latest(),
        }
    ),
    "list_offsets by time": lambda admin: admin.list_offsets(
        {
            TopicPartition("t", 0): OffsetSpec.max_timestamp(),
            TopicPartition("t", 1): OffsetSpec.for_timestamp(1_000_050),
        }
    ),
    "list_consumer_groups": lambda admin: admin.list_consumer_groups(),
    "describe_consumer_groups": lambda admin: admin.describe_consumer_groups(
        ["readers", "nobody"], include_authorized_operations=True
    ),
    "list_consumer_group_offsets": lambda admin: admin.list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions("readers")]
    ),
    "alter_consumer_group_offsets": lambda admin: admin.alter_consumer_group_offsets([_OFFSETS]),
    "delete_consumer_groups, unknown": lambda admin: admin.delete_consumer_groups(["nobody"]),
    "create_topics": lambda admin: admin.create_topics([NewTopic("new", 2, 1)]),
    "create_topics, there": lambda admin: admin.create_topics([NewTopic("new", 2, 1)]),
    "create_topics, too many replicas": lambda admin: admin.create_topics([NewTopic("x", 1, 3)]),
    "create_partitions": lambda admin: admin.create_partitions([NewPartitions("new", 3)]),
    "create_partitions, fewer": lambda admin: admin.create_partitions([NewPartitions("new", 1)]),
    "alterConfigs of a topic": _altered(ResourceType.TOPIC, "new", "retention.ms", "5"),
    "alterConfigs of a topic, wrong": _altered(ResourceType.TOPIC, "new", "retention.ms", "x"),
    "delete_records": lambda admin: admin.delete_records([TopicPartition("t", 0, 2)]),
    "delete_topics": lambda admin: admin.delete_topics(["new"]),
    "delete_topics, unknown": lambda admin: admin.delete_topics(["new"]),
    "elect_leaders": lambda admin: admin.elect_leaders(
        ElectionType.PREFERRED, [TopicPartition("t", 0)]
    ),
    "elect_leaders of all": lambda admin: admin.elect_leaders(ElectionType.PREFERRED),
    "create_acls": lambda admin: admin.create_acls([AclBinding(*_ACL)]),
    "describe_acls": lambda admin: admin.describe_acls(AclBindingFilter(*_ACL)),
    "delete_acls": lambda admin: admin.delete_acls([AclBindingFilter(*_ACL)]),
    "describe_user_scram_credentials": lambda admin: admin.describe_user_scram_credentials(),
    "describe_user_scram_credentials of one": lambda admin: admin.describe_user_scram_credentials(
        ["bob"]
    ),
    "alterUserScramCredentials": lambda admin: admin.alter_user_scram_credentials([_BOB]),
    "alterUserScramCredentials, deleted": lambda admin: admin.alter_user_scram_credentials(
        [UserScramCredentialDeletion("bob", ScramMechanism.SCRAM_SHA_256)]
    ),
    "alterConfigs of the broker": _altered(ResourceType.BROKER, "1", "log.cleaner.threads", "2"),
}
"""Every call that it has."""


# The client of Java.


def test_every_call_of_java_is_answered_as_by_a_broker(sides: Sides) -> None:
    assert_as_expected(compared(sides, java_answers), REFUSED)


def java_answers(where: str) -> dict[str, str]:
    done = run_java(VERSION, "Administration", where, classes=compiled("Administration"))
    lines = [line.partition("\t") for line in done.stdout.splitlines() if "\t" in line]
    assert len(lines) > 80, done.stderr[-3000:]
    return {name: without_addresses(answer) for name, _, answer in lines}
