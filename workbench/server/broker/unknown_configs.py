"""What a writable server does not delete: what a broker's own file may have said to keep.

`server.properties` is not in a log directory. In the time of ZooKeeper, the configurations of
topics were not there either. With Kafka's defaults, records of 8 days ago, and offsets of groups
without members, would be deleted within a minute of the start.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from workbench.config.definitions import TOPIC_NAMES
from workbench.layout.integers import INT32_MAX
from workbench.runtime.words import first_few

_RETENTION: Final = tuple(each.name for each in TOPIC_NAMES["retention.ms"].synonyms)
_OFFSETS: Final = "offsets.retention.minutes"


def held_back(
    given: Mapping[str, Any], *, knows_topics: bool, compacted: Iterable[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """Return values so that only what is configured is deleted, and sentences about what is kept.

    Args:
        given: names of brokers and topics to values, as far as they are known.
        knows_topics: whether the configurations of topics are in the cluster's metadata.
        compacted: topics that were compacted, by the cleaner's checkpoint.

    Returns:
        `log.retention.ms` and `offsets.retention.minutes` that keep everything, if nothing sets
        them, and `retention.ms` of compacted topics. The default policy is to delete, so nothing is
        compacted.
    """
    kept: dict[str, Any] = {}
    held = []
    if not any(given.get(name) is not None for name in (*_RETENTION, "retention.ms")):
        kept[_RETENTION[0]] = -1
        of_topics = (
            "server.properties is not here, so retention deletes nothing of topics that do not set "
            "retention.ms"
            if knows_topics
            else "the configurations of topics are not here (no __cluster_metadata), so retention "
            "deletes nothing and nothing is compacted but the internal topics; configurations that "
            "clients set last until the server ends"
        )
        held.append(
            f"{of_topics}; --set [TOPIC:]NAME=VALUE or --config FILE gives them, "
            "--defaults takes Kafka's"
        )
    unset = [
        topic for topic in compacted
        if not knows_topics and not {f"{topic}:cleanup.policy", "cleanup.policy"} & given.keys()
    ]  # fmt: skip
    if unset:
        kept |= {name: -1 for topic in unset if (name := f"{topic}:retention.ms") not in given}
        held.append(
            f"cleaner-offset-checkpoint: {first_few(unset)} {'was' if len(unset) == 1 else 'were'} "
            "compacted; nothing of them is deleted or compacted until "
            "--set TOPIC:cleanup.policy=compact"
        )
    if given.get(_OFFSETS) is None:
        kept[_OFFSETS] = INT32_MAX
    return kept, held
