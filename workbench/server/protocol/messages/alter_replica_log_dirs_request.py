"""AlterReplicaLogDirsRequest in versions 1 to 2; `make messages` writes it."""

from typing import TypedDict


class AlterReplicaLogDirTopic(TypedDict):
    """Kafka: AlterReplicaLogDirsRequestData.AlterReplicaLogDirTopic (4.3)."""

    name: str
    partitions: list[int]


class AlterReplicaLogDir(TypedDict):
    """Kafka: AlterReplicaLogDirsRequestData.AlterReplicaLogDir (4.3)."""

    path: str
    topics: list[AlterReplicaLogDirTopic]


class AlterReplicaLogDirsRequest(TypedDict):
    """Kafka: AlterReplicaLogDirsRequestData (4.3)."""

    dirs: list[AlterReplicaLogDir]
