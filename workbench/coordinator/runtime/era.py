"""Choose which of Kafka's coordinators loads a partition: they read the same log differently.

    2.0 and older     commits carry the time at which they expire; loads end at the high watermark
    2.1 to 3.9        KIP-211: offsets expire after the group became empty; loads end at the log end
    2.3 to 2.5        the same, but a load ignores when the group became empty
    4.0 and newer     the coordinator of KIP-848 (an option in 3.7 to 3.9)

Kafka: GroupMetadataManager (0.9.0.1, 2.0.1, 2.5.1, 2.8.2), GroupCoordinatorShard (4.2)
"""

from enum import IntEnum
from typing import Any, Final

from workbench.inspection.cluster.image import METADATA_VERSION, StoredCluster
from workbench.runtime.times import DAY

_METADATA_VERSION_4_0: Final = 22  # 4.0-IV0


class CoordinatorEra(IntEnum):
    """The coordinator of a range of versions, ascending."""

    BEFORE_2_1 = 0
    CLASSIC = 1
    UNSTAMPED = 2
    KIP_848 = 3

    def __str__(self) -> str:
        return ("2.0 and older", "2.1 to 3.9", "2.3 to 2.5", "4.0 and newer")[self]

    @property
    def default_retention_ms(self) -> int:
        """`offsets.retention.minutes` unless configured; 2.0 itself already has seven days."""
        return DAY if self is CoordinatorEra.BEFORE_2_1 else 7 * DAY


def era_of_cluster(cluster: StoredCluster | None) -> CoordinatorEra:
    """Return the oldest coordinator that a cluster with this metadata can run."""
    if cluster is None:
        return CoordinatorEra.BEFORE_2_1
    features = cluster.features
    is_new = features.get(METADATA_VERSION, 0) >= _METADATA_VERSION_4_0
    return (
        CoordinatorEra.KIP_848
        if is_new or features.get("group.version", 0) >= 1
        else CoordinatorEra.CLASSIC
    )


def era_of_record(type_id: int, version: int | None) -> CoordinatorEra:
    """Return the oldest coordinator that writes a record of this type and version.

    Args:
        type_id: the key's type.
        version: the value's version; None for a tombstone.
    """
    if type_id > _GROUP or (type_id <= _OFFSET and version is not None and version >= 4):
        return CoordinatorEra.KIP_848
    if type_id >= 0 and version is not None and version >= 2:
        return CoordinatorEra.CLASSIC
    return CoordinatorEra.BEFORE_2_1


_OFFSET, _GROUP = 1, 2  # types of keys


def era_of(value: Any) -> CoordinatorEra:
    """Return an era by its first version: "0.8", "2.1", "4.0".

    Raises:
        ValueError: the text is not a version of Kafka.
    """
    try:
        major, minor = (int(part) for part in str(value).split(".")[:2])
    except ValueError:
        raise ValueError(f"{value!r} is not a version of Kafka such as 2.8 or 4.2") from None
    if major >= 4:
        return CoordinatorEra.KIP_848
    if (2, 3) <= (major, minor) <= (2, 5):
        return CoordinatorEra.UNSTAMPED
    return CoordinatorEra.CLASSIC if (major, minor) >= (2, 1) else CoordinatorEra.BEFORE_2_1
