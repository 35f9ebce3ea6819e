"""Find where reading starts and ends: earliest, latest, offsets or times, for all or each.

Ends are excluded. In JSON -2 is the earliest offset and -1 the latest, as everywhere in Kafka.

Spark: KafkaOffsetRangeLimit, KafkaOffsetReaderAdmin, JsonUtils (4.2)
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, Self, TypeVar

from workbench.inspection.partition import DiskPartition
from workbench.runtime.times import given_ms

EARLIEST: Final = -2
LATEST: Final = -1
_WORDS: Final = {EARLIEST: "earliest", LATEST: "latest"}

Offsets = dict[str, int]
"""Offset by the name of the partition, as ``orders-0``."""

TOPIC_IDS: Final = "topic ids"
"""The key of topic ids beside the topics of a stream's offset: no name of a topic has a space."""

T = TypeVar("T")


@dataclass(frozen=True)
class Limit:
    """A start or an end, as options give it; of the four, the last that is set takes precedence.

    Attributes:
        which: "starting" or "ending".
        everywhere: `EARLIEST` or `LATEST`.
        offsets: offsets by partition; `EARLIEST` and `LATEST` are allowed.
        timestamps: ms since the epoch by partition.
        timestamp: ms, for every partition.
        or_latest: whether a time that no record reaches means the latest offset, or is an error.
    """

    which: Literal["starting", "ending"]
    everywhere: int
    offsets: Offsets | None = None
    timestamps: Offsets | None = None
    timestamp: int | None = None
    or_latest: bool = False

    @property
    def is_latest(self) -> bool:
        """Whether it is the latest offset of every partition."""
        return self == Limit(self.which, LATEST, or_latest=self.or_latest)

    def refuse(self, offset: int) -> None:
        """Raise ValueError when this is, or names, the given one of `EARLIEST` and `LATEST`."""
        if self.timestamp is not None or self.timestamps is not None:
            return
        named = {"": self.everywhere} if self.offsets is None else self.offsets
        for name, at in named.items():
            if at == offset:
                where = f"{self.which} offset{name and f' for {name}'}"
                raise ValueError(f"{where} can't be {_WORDS[offset]} for batch queries")


def parse_limit(
    given: Mapping[str, str], which: Literal["starting", "ending"], default: int, *, or_latest: bool
) -> Limit:
    """Return the start or end that options name: a time precedes times, and those offsets.

    Args:
        given: options by their names in small letters.
        which: "starting" or "ending".
        default: `EARLIEST` or `LATEST`.
        or_latest: see `Limit`.

    Raises:
        ValueError: an option cannot be parsed.
    """
    if (text := given.get(f"{which}timestamp")) is not None:
        try:
            timestamp = given_ms(text)
        except ValueError as error:
            raise ValueError(f"{which}Timestamp is not a single time: {error}") from None
        return Limit(which, default, timestamp=timestamp, or_latest=or_latest)
    if (text := given.get(f"{which}offsetsbytimestamp")) is not None:
        timestamps = _by_partition(f"{which}OffsetsByTimestamp", text, _time)
        return Limit(which, default, timestamps=timestamps, or_latest=or_latest)
    text = given.get(f"{which}offsets", _WORDS[default]).strip()
    for offset, word in _WORDS.items():
        if text.lower() == word:
            return Limit(which, offset, or_latest=or_latest)
    return Limit(
        which, default, offsets=_by_partition(f"{which}Offsets", text), or_latest=or_latest
    )


def parse_partitions(text: str) -> tuple[str, ...]:
    """Return the names of the partitions of ``{"orders":[0,1]}``.

    Raises:
        ValueError: the text is not such JSON.
    """
    try:
        found = json.loads(text)
        names = tuple(
            f"{topic}-{int(number)}" for topic, numbers in found.items() for number in numbers
        )
    except (ValueError, TypeError, AttributeError):
        names = ()
    if not names:
        raise ValueError(f'assign is {text!r}, expected such as {{"topicA":[0,1],"topicB":[0,1]}}')
    return names


def _time(value: Any) -> int:
    return given_ms(value) if isinstance(value, str) else int(value)


def _by_partition(option: str, text: str, number: Callable[[Any], int] = int) -> Offsets:
    """Return numbers by partition from ``{"orders":{"0":23,"1":-1}}``."""
    try:
        return flat(json.loads(text), number)
    except (ValueError, TypeError, AttributeError):
        example = '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}'
        raise ValueError(f"{option} is {text!r}, expected such as {example}") from None


def flat(offsets: Mapping[str, Mapping[str, Any]], value: Callable[[Any], T]) -> dict[str, T]:
    """Return ``{"orders": {"0": 23}}``, the form of Spark's checkpoints, by name of partition."""
    return {
        f"{topic}-{int(number)}": value(offset)
        for topic, numbers in offsets.items()
        for number, offset in numbers.items()
    }


def nested(values: Mapping[str, T]) -> dict[str, dict[str, T]]:
    """Return values by name of partition in the form of Spark's checkpoints."""
    found: dict[str, dict[str, T]] = {}
    for name, value in sorted(values.items()):
        topic, _, number = name.rpartition("-")
        found.setdefault(topic, {})[number] = value
    return found


class StreamPosition(NamedTuple):
    """Where a stream is.

    Attributes:
        offsets: the first offset still to be read, by name of partition.
        topic_ids: the id of the topic that the offset is of, where it is known.
    """

    offsets: Offsets
    topic_ids: dict[str, str]

    @classmethod
    def parse(cls, found: Mapping[str, Mapping[str, Any]]) -> Self:
        """Return the position that a checkpoint has; those of before have no ids."""
        topics = {name: value for name, value in found.items() if name != TOPIC_IDS}
        return cls(flat(topics, int), flat(found.get(TOPIC_IDS, {}), str))

    def as_json(self) -> dict[str, Any]:
        """Return it as it is kept in a checkpoint."""
        ids = {TOPIC_IDS: nested(self.topic_ids)} if self.topic_ids else {}
        return {**nested(self.offsets), **ids}


@dataclass(frozen=True)
class LogEnds:
    """The first and the end offset of partitions, each looked up once.

    Attributes:
        partitions: the partitions by name.
        end_of: the function that returns the offset after the last that may be read.
    """

    partitions: Mapping[str, DiskPartition]
    end_of: Callable[[DiskPartition], int]
    _ends: Offsets = field(default_factory=dict)

    def start(self, name: str) -> int:
        """Return the first offset that may be read."""
        return self.partitions[name].log_start_offset

    def end(self, name: str) -> int:
        """Return the offset after the last that may be read."""
        if name not in self._ends:
            self._ends[name] = max(self.start(name), self.end_of(self.partitions[name]))
        return self._ends[name]

    def ends(self) -> Offsets:
        """Return the end of every partition."""
        return {name: self.end(name) for name in self.partitions}

    def resolve(self, limit: Limit) -> Offsets:
        """Return the offset that a limit means for each partition.

        Raises:
            ValueError: the limit does not name these partitions, or no record reaches its time.
        """
        if limit.timestamp is not None:
            times = dict.fromkeys(self.partitions, limit.timestamp)
            return {name: self._at_time(name, time, limit) for name, time in times.items()}
        if limit.timestamps is not None:
            self._require(f"{limit.which}OffsetsByTimestamp", limit.timestamps)
            return {
                name: self._at_time(name, limit.timestamps[name], limit) for name in self.partitions
            }
        if limit.offsets is None:
            return {name: self._at(name, limit.everywhere) for name in self.partitions}
        self._require(f"{limit.which}Offsets", limit.offsets)
        return {name: self._at(name, limit.offsets[name]) for name in self.partitions}

    def _at(self, name: str, offset: int) -> int:
        if offset == EARLIEST:
            return self.start(name)
        return self.end(name) if offset == LATEST else offset

    def _at_time(self, name: str, time: int, limit: Limit) -> int:
        offset = self.partitions[name].offset_for_timestamp(time)
        if offset is not None and offset < self.end(name):
            return offset
        if not limit.or_latest:
            raise ValueError(f"no offset of {name} is at or after {limit.which} timestamp {time}")
        return self.end(name)

    def _require(self, option: str, named: Iterable[str]) -> None:
        if set(named) != set(self.partitions):
            raise ValueError(
                f"{option} must name every partition; use -1 for latest, -2 for earliest. "
                f"Named: {sorted(named)}; partitions: {sorted(self.partitions)}"
            )
