"""Judge whether a node can apply its metadata log, and whether the cluster in it lets the node in.

A node that leads nothing and cannot register waits, and stops when
`initial.broker.registration.timeout.ms` have passed.

Kafka: KafkaRaftClient.initialize, ClusterControlManager.registerBroker (3.7 to 4.2),
MetadataVersion.fromFeatureLevel
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from workbench.config.broker_rules import BrokerRules
from workbench.config.log_config import refused_value
from workbench.files import names
from workbench.files.text import format_uuid
from workbench.inspection.cluster.loading import FITTING
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Root
from workbench.inspection.node_start.known_topics import KnownTopics
from workbench.inspection.node_start.refusal import (
    ILLEGAL_STATE,
    MISMATCH,
    NO_CONTROLLER,
    RUNTIME,
    Refusal,
)
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable

_CONFIG: Final = "org.apache.kafka.common.config.ConfigException"
_STOPS: Final = "The node waits for a controller that lets it in, and stops after a minute."


def judge_records(partition: DiskPartition, known: KnownTopics) -> Refusal | None:
    """Return why a node cannot apply the records of its metadata log; None if it can.

    That happens if a snapshot lacks its end, and the log continues from there.

    Kafka: ClusterDelta.replay, TopicsDelta.replay (4.2)
    """
    found = known.cluster.contradiction
    if not found:
        return None
    finding = Finding(
        "metadata-record", "error", partition.path, None, None, found,
        FITTING, NO_CONTROLLER,
    )  # fmt: skip
    return Refusal(finding, RUNTIME if "topic id" in found else ILLEGAL_STATE)


def judge_configs(
    partition: DiskPartition, known: KnownTopics, rules: BrokerRules
) -> Refusal | None:
    """Return why a broker does not start with the stored configurations of topics; None if it does.

    A broker makes the configuration of each topic before it loads the logs.

    Args:
        partition: the metadata log.
        known: what the node knows.
        rules: how brokers of the version that is assumed behave.

    Kafka: LogManager.fetchTopicConfigOverrides, LogConfig.fromProps (4.2)
    """
    for topic, own in sorted(known.cluster.configs.topics.items()):
        for name, value in sorted(own.items()):
            problem = refused_value(name, value, rules)
            if problem and topic in known.cluster.topic_ids:
                finding = Finding(
                    "topic-config", "error", partition.path, None, None,
                    f"topic {topic}: {problem}",
                    "a value that the version allows",
                    "The broker does not start. Set the value while an older version runs, or with "
                    "serve --writable and kafka-configs.sh.",
                )  # fmt: skip
                return Refusal(finding, _CONFIG)
    return None


def judge_membership(roots: Sequence[Root], metadata: Root, known: KnownTopics) -> Refusal | None:
    """Return why a node finds no controller that registers it; None if it may.

    Args:
        roots: the node's log directories.
        metadata: the one with the metadata log.
        known: what the node knows.
    """
    node_id, cluster = known.node_id, known.cluster
    if node_id is None:
        return None
    voters = dict(cluster.voters or ())
    own = _directory_id(metadata)
    path = f"{metadata.path}/{names.META_PROPERTIES}"
    if list(voters) == [node_id] and voters[node_id] != own:
        found = f"directory.id {own}" if own else "no directory.id"
        wanted = f"{voters[node_id]}, that of the only voter"
        return Refusal(Finding(MISMATCH, "error", path, None, None, found, wanted, _STOPS), RUNTIME)
    for root in roots:
        own = _directory_id(root)
        for other, directories in cluster.log_directories.items():
            if other != node_id and own in directories:
                path = f"{root.path}/{names.META_PROPERTIES}"
                found = f"directory.id {own}, which node {other} is registered with"
                wanted = f"one of node {node_id}"
                finding = Finding(MISMATCH, "error", path, None, None, found, wanted, _STOPS)
                return Refusal(finding, RUNTIME)
    return None


def _directory_id(root: Root) -> str:
    meta = if_readable(partial(getattr, root, "meta_properties"))
    return "" if meta is None or meta.directory_id is None else format_uuid(meta.directory_id)
