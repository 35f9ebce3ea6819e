"""The broker and cluster that log directories belong to: their `meta.properties` must agree.

A broker refuses to start if they do not. A directory without one gets one for the same broker. Ids
of directories are never changed, and not added to directories that were created without.

Kafka: MetaPropertiesEnsemble, KafkaRaftServer.initializeLogDirs (4.2)
"""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final
from uuid import UUID

from workbench.config.internal_topics import RESERVED_IDS
from workbench.errors import CorruptFileError, LogDirectoryError, UnsupportedFormatError
from workbench.file_system.local import FileSystem
from workbench.files import text
from workbench.files.meta_properties import LATEST_VERSION, MetaProperties
from workbench.files.names import META_PROPERTIES

DEFAULT_NODE_ID: Final = 1


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity that the log directories of one broker agree on.

    Attributes:
        node_id: the broker's id; None if no directory has it.
        cluster_id: the cluster's id; None if no directory has it.
        directory_ids: path of a log directory → its id, for directories that have one.
        is_kraft: whether no directory belongs to a broker with ZooKeeper.
    """

    node_id: int | None
    cluster_id: str | None
    directory_ids: Mapping[str, UUID]
    is_kraft: bool = True


def read_meta_properties(directory: str, fs: FileSystem) -> MetaProperties | None:
    """Return a directory's `meta.properties`; None if there is none.

    Raises:
        OSError: the file exists and cannot be read.
        LogDirectoryError: the file cannot be parsed, or lacks a required property: a broker does
            not start. Before 0.10.1 there was no cluster id, so only a node id is required.
    """
    path = os.path.join(directory, META_PROPERTIES)
    if not fs.exists(path):
        return None
    try:
        found = MetaProperties.decode(fs.read(path, MetaProperties.size_limit + 1), path)
    except (CorruptFileError, UnsupportedFormatError) as error:
        raise LogDirectoryError(path, error.problem) from error
    if found.node_id is None:
        raise LogDirectoryError(
            path, f"meta.properties has no {'broker' if found.version == 0 else 'node'}.id"
        )
    return found


def agree(
    found: Mapping[str, MetaProperties], node_id: int | None = None, cluster_id: str | None = None
) -> Identity:
    """Return the identity that the directories agree on.

    Args:
        found: path of a log directory → its `meta.properties`.
        node_id: the broker's id; None takes the one found.
        cluster_id: the cluster's id; None takes the one found.

    Raises:
        LogDirectoryError: a directory is of another broker or cluster, or two have the same id.

    Kafka: MetaPropertiesEnsemble.verify (4.2)
    """
    by_id: dict[UUID, str] = {}
    for directory, properties in found.items():
        path = os.path.join(directory, META_PROPERTIES)
        node_id = properties.node_id if node_id is None else node_id
        cluster_id = properties.cluster_id if cluster_id is None else cluster_id
        if properties.node_id != node_id:
            raise LogDirectoryError(
                path, f"node.id is wrong (found {properties.node_id}, expected {node_id})"
            )
        if properties.cluster_id not in {cluster_id, None}:
            problem = f"cluster.id is wrong (found {properties.cluster_id}, expected {cluster_id})"
            raise LogDirectoryError(path, problem)
        directory_id = properties.directory_id
        if directory_id is None:
            continue
        if directory_id.int < RESERVED_IDS:
            problem = f"directory.id {text.format_uuid(directory_id)} is reserved"
            raise LogDirectoryError(path, problem)
        other = by_id.setdefault(directory_id, directory)
        if other != directory:
            problem = f"directory.id {text.format_uuid(directory_id)} is also the id of {other}"
            raise LogDirectoryError(path, problem)
    is_kraft = all(properties.version != 0 for properties in found.values())
    return Identity(node_id, cluster_id, {path: id_ for id_, path in by_id.items()}, is_kraft)


def make_missing(
    identity: Identity, missing: Sequence[str], fs: FileSystem, rng: Random
) -> Identity:
    """Write `meta.properties` into the directories that have none, and return the new identity.

    Raises:
        OSError: a file cannot be written.
    """
    node_id = DEFAULT_NODE_ID if identity.node_id is None else identity.node_id
    cluster_id = identity.cluster_id or text.format_uuid(random_uuid(rng))
    ids = dict(identity.directory_ids)
    for directory in missing:
        ids[directory] = _unused_id(rng, ids.values())
        properties = {
            "node.id": str(node_id),
            "directory.id": text.format_uuid(ids[directory]),
            "version": str(LATEST_VERSION),
            "cluster.id": cluster_id,
        }
        made = MetaProperties(node_id, cluster_id, ids[directory], properties=properties)
        fs.write_atomically(os.path.join(directory, META_PROPERTIES), made.encode())
    return Identity(node_id, cluster_id, ids, identity.is_kraft) if missing else identity


def _unused_id(rng: Random, used: Collection[UUID]) -> UUID:
    """Return an id that no other directory has; ``rng`` may have been seeded as for another one.

    Kafka: MetaPropertiesEnsemble.Copier.generateValidDirectoryId (4.2)
    """
    while (found := random_uuid(rng)) in used:
        pass
    return found


def random_uuid(rng: Random) -> UUID:
    """Return a random id whose text in Kafka does not begin with a dash.

    Kafka: Uuid.randomUuid (4.2)
    """
    while True:
        found = UUID(int=rng.getrandbits(128), version=4)
        if not text.format_uuid(found).startswith("-"):
            return found
