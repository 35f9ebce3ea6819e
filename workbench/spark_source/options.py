"""The options of a ``load``: the names, meanings, defaults and errors of Spark's own Kafka source.

So a job moves here by changing the format and naming a path. What speaks to a broker alone (other
``kafka.*`` options, time limits of fetches) is passed over; what nobody knows is refused.

Spark: KafkaSourceProvider.validateGeneralOptions, validateBatchOptions, validateStreamOptions (4.2)
"""

import json
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from workbench.spark_source.columns import (
    ALL_COLUMNS,
    DAMAGE_COLUMN,
    HEADER_COLUMNS,
    KAFKA_COLUMNS,
    METADATA_COLUMNS,
)
from workbench.spark_source.offsets import EARLIEST, LATEST, Limit, parse_limit, parse_partitions

OnCorrupt = Literal["fail", "skip", "rows"]

DEFAULT_PARTITION_BYTES: Final = 128 << 20  # of a task: one costs about 70 ms before its first byte

_STRATEGIES: Final = ("assign", "subscribe", "subscribePattern")
_OURS: Final = (
    "path", "paths", "columns", "includeMetadata", "includeControl", "maxPartitionBytes",
    "batchRows", "onCorrupt",
)  # fmt: skip
_BOTH: Final = (
    *_STRATEGIES, "startingOffsets", "startingOffsetsByTimestamp", "startingTimestamp",
    "startingOffsetsByTimestampStrategy", "includeHeaders", "failOnDataLoss", "minPartitions",
    "maxRecordsPerPartition",
)  # fmt: skip
_ONLY_BATCH: Final = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")
_ONLY_STREAM: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
_FOR_A_BROKER: Final = (
    "kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
)  # fmt: skip
KNOWN: Final = {
    name.lower(): name for name in (*_OURS, *_BOTH, *_ONLY_BATCH, *_ONLY_STREAM, *_FOR_A_BROKER)
}
"""Every option but those of ``kafka.*``, by its name in small letters."""

_REFUSED: Final = {
    "kafka.auto.offset.reset": "is not supported: set startingOffsets to earliest or latest",
    "kafka.key.deserializer": "is not supported: keys are bytes; decode them in Spark",
    "kafka.value.deserializer": "is not supported: values are bytes; decode them in Spark",
    "kafka.enable.auto.commit": "is not supported",
    "kafka.interceptor.classes": "is not supported",
}
_UNITS: Final = {"": 0, "k": 10, "m": 20, "g": 30}


@dataclass(frozen=True)
class SourceOptions:
    """The options of one ``load``, checked.

    Attributes:
        paths: log directories of one broker, or partitions' folders; local, ``file:``, or a URI.
        topics: names to read; None: any.
        pattern: a regular expression for whole names of topics; None: any.
        partitions: names as ``orders-0`` to read; None: any.
        starting, ending: where reading starts, and ends.
        columns: names of the columns, in their order.
        read_committed: leave out aborted records and stop at the last stable offset.
        include_control: give control records too.
        fail_on_data_loss: offsets that are not there any more, or a deleted segment, end the job.
        on_corrupt: what a batch that cannot be read does: end the job, be left out with a warning,
            or be told in a row.
        max_partition_bytes: bytes of a task, about.
        min_partitions: tasks to make at least, as far as segments can be cut; None: any.
        max_records: offsets of a task at the most; None: any.
        batch_rows: rows of an Arrow batch at the most; None: as they come, some MiB.
        max_offsets: offsets of a micro-batch at the most; None: any.
    """

    paths: tuple[str, ...]
    topics: tuple[str, ...] | None
    pattern: str | None
    partitions: tuple[str, ...] | None
    starting: Limit
    ending: Limit
    columns: tuple[str, ...]
    read_committed: bool
    include_control: bool
    fail_on_data_loss: bool
    on_corrupt: OnCorrupt
    max_partition_bytes: int
    min_partitions: int | None
    max_records: int | None
    batch_rows: int | None
    max_offsets: int | None


def parse_columns(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns that options ask for: what the source's schema has.

    Raises:
        ValueError: an option has no meaning.
    """
    given = {name.lower(): value for name, value in options.items()}
    tells_damage = _on_corrupt(given) == "rows"
    if "columns" in given:
        names = tuple(name.strip() for name in given["columns"].split(","))
        there = {name.lower(): name for name in (*ALL_COLUMNS, *[DAMAGE_COLUMN] * tells_damage)}
        for name in names:
            if name.lower() not in there:
                raise ValueError(
                    f"there is no column {name}; there are {', '.join(there.values())}"
                )
        return tuple(dict.fromkeys(there[name.lower()] for name in names))
    names = tuple(KAFKA_COLUMNS)
    if _flag(given, "includeheaders", default=False):
        names += tuple(HEADER_COLUMNS)
    if _flag(given, "includemetadata", default=False):
        names += tuple(METADATA_COLUMNS)
    return (*names, DAMAGE_COLUMN) if tells_damage else names


def parse_options(options: Mapping[str, str], *, streaming: bool = False) -> SourceOptions:
    """Return the options of a ``load``; names in any case.

    Raises:
        ValueError: one is missing, unknown, or has no meaning.
    """
    given = {name.lower(): value for name, value in options.items()}
    _refuse(given, streaming=streaming)
    strategy = given.get("startingoffsetsbytimestampstrategy", "error").strip().lower()
    if strategy not in {"error", "latest"}:
        raise ValueError(f"startingOffsetsByTimestampStrategy is {strategy!r}, not error or latest")
    default = LATEST if streaming else EARLIEST
    starting = parse_limit(given, "starting", default, or_latest=strategy == "latest")
    ending = parse_limit(given, "ending", LATEST, or_latest=True)
    if not streaming:
        starting.refuse(LATEST)
        ending.refuse(EARLIEST)
    isolation = given.get("kafka.isolation.level", "read_uncommitted")
    if isolation not in {"read_uncommitted", "read_committed"}:
        raise ValueError(f"kafka.isolation.level is {isolation!r}")
    fail_on_data_loss = _flag(given, "failondataloss", default=True)
    return SourceOptions(
        paths=_paths(given),
        topics=_topics(given.get("subscribe")),
        pattern=_pattern(given.get("subscribepattern")),
        partitions=parse_partitions(given["assign"]) if "assign" in given else None,
        starting=starting,
        ending=ending,
        columns=parse_columns(given),
        read_committed=isolation == "read_committed",
        include_control=_flag(given, "includecontrol", default=False),
        fail_on_data_loss=fail_on_data_loss,
        on_corrupt=_on_corrupt(given),
        max_partition_bytes=_positive(given, "maxpartitionbytes", _size) or DEFAULT_PARTITION_BYTES,
        min_partitions=_positive(given, "minpartitions"),
        max_records=_positive(given, "maxrecordsperpartition"),
        batch_rows=_positive(given, "batchrows"),
        max_offsets=_positive(given, "maxoffsetspertrigger"),
    )


def _refuse(given: Mapping[str, str], *, streaming: bool) -> None:
    """Raise ValueError for options that are not known here; warn of those without effect."""
    for name in given:
        if name in _REFUSED:
            raise ValueError(f"option {name} {_REFUSED[name]}")
        if name not in KNOWN and not name.startswith("kafka."):
            raise ValueError(
                f"kafka-log has no option {name!r}; there are {', '.join(KNOWN.values())}"
            )
    named = [name for name in _STRATEGIES if name.lower() in given]
    if len(named) > 1:
        raise ValueError(f"only one of {', '.join(_STRATEGIES)} may be given, not {named}")
    if streaming:
        for name in _ONLY_BATCH:
            if name.lower() in given:
                raise ValueError(f"{name} is not valid in streaming queries")
    without_effect = ("minOffsetsPerTrigger", "maxTriggerDelay") if streaming else _ONLY_STREAM
    for name in without_effect:
        if name.lower() in given:
            warnings.warn(f"kafka-log: option {name} has no effect here", stacklevel=4)


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    """Return ``path``, or several: separated by commas, as in Kafka's ``log.dirs``."""
    if "path" in given:
        paths = given["path"].split(",")
    elif "paths" in given:
        paths = json.loads(given["paths"])
    else:
        raise ValueError("kafka-log needs a path: load(path) or option('path', …)")
    return tuple(re.sub(r"^file:(//)?(?=/)", "", path.strip()) for path in paths)


def _topics(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(filter(None, (name.strip() for name in text.split(","))))
    if not names:
        raise ValueError(f"subscribe is {text!r}: there are no topics to subscribe to")
    return names


def _pattern(text: str | None) -> str | None:
    if text is None:
        return None
    if not text.strip():
        raise ValueError(f"subscribePattern is {text!r}: the pattern is empty")
    try:
        re.compile(text.strip())
    except re.error as error:
        raise ValueError(f"subscribePattern is {text!r}: {error}") from error
    return text.strip()


def _on_corrupt(given: Mapping[str, str]) -> Any:
    """Return what damage does: as onCorrupt says, else as failOnDataLoss."""
    default = "fail" if _flag(given, "failondataloss", default=True) else "skip"
    text = given.get("oncorrupt", default).strip().lower()
    if text not in {"fail", "skip", "rows"}:
        raise ValueError(f"onCorrupt is {text!r}, not fail, skip or rows")
    return text


def _flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name, str(default)).strip().lower()
    if text not in {"true", "false"}:
        raise ValueError(f"{KNOWN[name]} is {text!r}, not true or false")
    return text == "true"


def _size(text: str) -> int:
    """Return bytes from ``134217728`` or ``128m``."""
    found = re.fullmatch(r"(\d+)([kmg]?)b?", text.lower())
    if not found:
        raise ValueError("not a size like 128m")
    return int(found[1]) << _UNITS[found[2]]


def _positive(given: Mapping[str, str], name: str, parse: Callable[[str], int] = int) -> int | None:
    """Return a number above 0; None when the option was not given."""
    if name not in given:
        return None
    try:
        number = parse(given[name].strip())
    except ValueError as error:
        raise ValueError(f"{KNOWN[name]} is {given[name]!r}: {error}") from error
    if number <= 0:
        raise ValueError(f"{KNOWN[name]} must be positive, not {number}")
    return number
