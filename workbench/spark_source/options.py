"""The options of a ``load``: named, defaulted and checked as by Spark's own Kafka source.

So a job moves here by changing the format and naming a path. Options for a broker alone (other
``kafka.*`` options, time limits of fetches) are ignored; unknown and misspelled ones are refused.

Spark: KafkaSourceProvider.validateGeneralOptions, validateBatchOptions, validateStreamOptions (4.2)
"""

import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast, get_args

from workbench.inspection.transactions import IsolationLevel
from workbench.runtime.times import span_ms
from workbench.runtime.words import did_you_mean, unknown_column
from workbench.spark_source.columns import (
    ALL_COLUMNS,
    DAMAGE_COLUMN,
    HEADER_COLUMNS,
    KAFKA_COLUMNS,
    METADATA_COLUMNS,
)
from workbench.spark_source.consumer_names import refuse_slips
from workbench.spark_source.option_values import (
    flag,
    paths,
    plain_path,
    positive,
    size,
    small_names,
)
from workbench.spark_source.plan.offsets import (
    EARLIEST,
    LATEST,
    Limit,
    parse_limit,
    parse_partitions,
)
from workbench.spark_source.plan.path_patterns import expanded
from workbench.spark_source.plan.remote_tier import TierOptions, parse_tier
from workbench.values.by_topic import formats_of
from workbench.values.masking import Masks
from workbench.values.registry import ColumnDecoding

_DIALECT: Final = "expected a regular expression of Python's re, which is not in all as Java's"

OnCorrupt = Literal["fail", "skip", "rows"]

DEFAULT_PARTITION_BYTES: Final = 128 << 20  # of a task: one costs about 70 ms before its first byte

DEFAULT_DELAY_MS: Final = 15 * 60_000  # Spark: KafkaSourceProvider.DEFAULT_MAX_TRIGGER_DELAY

_FORMATS: Final = re.compile(r"[\w-]+(?:[:,].+)?|(?:[\w.-]+|\*)=.+", re.ASCII)
_STRATEGIES: Final = ("assign", "subscribe", "subscribePattern")
_OURS: Final = (
    "path", "paths", "columns", "includeMetadata", "includeControl", "includeInternal",
    "maxPartitionBytes", "batchRows", "onCorrupt", "decode", "mask", "maskSecret",
    "remote", "remoteKeys", "reader",
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
    "kafka.key.deserializer": 'is not supported: set decode, as {"key": "utf8"}',
    "kafka.value.deserializer": 'is not supported: set decode, as {"value": "avro"}',
    "kafka.enable.auto.commit": "is not supported",
    "kafka.interceptor.classes": "is not supported",
}


_OF_A_SCAN: Final = {
    "topic": "subscribe",
    "topics": "subscribe",
    "partitions": "assign",
    "offsets": "startingOffsets",
    "timestamps": "startingTimestamp",
    "isolation_level": "kafka.isolation.level",
    "isolationlevel": "kafka.isolation.level",
    "on_corrupt": "onCorrupt",
    "include_control": "includeControl",
    "value_format": "decode",
    "key_format": "decode",
}
"""Names of a scan's options, and of the command line's, and the option of Spark."""


@dataclass(frozen=True)
class SourceOptions:
    """The options of one ``load``, checked.

    Attributes:
        paths: log directories of one broker or of several of one cluster, or partition directories;
            local or a URI.
        topics: names to read; None: any.
        pattern: a regular expression, of Python's `re`, to be found anywhere in names of topics;
            None: any.
        partitions: names as ``orders-0`` to read; None: any.
        starting, ending: the limits of reading.
        columns: names of the columns, in their order.
        isolation_level: "read_committed" leaves out aborted records and stops at the last stable
            offset; None: read_uncommitted, and the planner says which records that includes.
        include_control: whether to return control records too.
        include_internal: whether Kafka's own topics are read though they are not named.
        fail_on_data_loss: whether missing offsets end the job.
        on_corrupt: the effect of an unreadable batch: it ends the job, is left out with a warning,
            or becomes a row.
        max_partition_bytes: approximate bytes of a task.
        min_partitions: the fewest tasks, as far as segments can be split; None: any.
        max_records: the most offsets of a task; None: any.
        batch_rows: the most rows of an Arrow batch; None: some MiB.
        max_offsets: the most offsets of a micro-batch; None: any.
        min_offsets: offsets that a micro-batch waits for; None: it does not wait.
        max_delay_ms: the longest that it waits after the one before.
        decode: decodings of keys and values, see `values.registry`.
        masks: rules that keep private data out, see `values.masking`.
        tier: the remote tier; None: only local segments are read.
        reader: what reads where the reader in Java is installed: "auto" or "python".
    """

    paths: tuple[str, ...]
    topics: tuple[str, ...] | None
    pattern: str | None
    partitions: tuple[str, ...] | None
    starting: Limit
    ending: Limit
    columns: tuple[str, ...]
    isolation_level: IsolationLevel | None
    include_control: bool
    include_internal: bool
    fail_on_data_loss: bool
    on_corrupt: OnCorrupt
    max_partition_bytes: int
    min_partitions: int | None
    max_records: int | None
    batch_rows: int | None
    max_offsets: int | None
    decode: Mapping[str, ColumnDecoding]
    masks: Masks
    tier: TierOptions | None
    reader: Literal["auto", "python"] = "auto"
    min_offsets: int | None = None
    max_delay_ms: int = DEFAULT_DELAY_MS

    @property
    def read_committed(self) -> bool:
        """Whether aborted records are left out."""
        return self.isolation_level == "read_committed"


def parse_columns(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns that options ask for: the columns of the source's schema.

    Raises:
        ValueError: an option's value is invalid.
    """
    given = small_names(options)
    tells_damage = _on_corrupt(given) == "rows"
    if "columns" in given:
        names = tuple(name.strip() for name in given["columns"].split(","))
        there = {name.lower(): name for name in (*ALL_COLUMNS, *[DAMAGE_COLUMN] * tells_damage)}
        for name in names:
            if name.lower() not in there:
                raise ValueError(unknown_column(name, there.values()))
        return tuple(dict.fromkeys(there[name.lower()] for name in names))
    names = tuple(KAFKA_COLUMNS)
    if flag(given, "includeHeaders", default=False):
        names += tuple(HEADER_COLUMNS)
    if flag(given, "includeMetadata", default=False):
        names += tuple(METADATA_COLUMNS)
    return (*names, DAMAGE_COLUMN) if tells_damage else names


def parse_options(options: Mapping[str, str], *, streaming: bool = False) -> SourceOptions:
    """Return the options of a ``load``; names in any case.

    Raises:
        ValueError: an option is missing, unknown or invalid.
    """
    given = small_names(options)
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
    isolation = given.get("kafka.isolation.level")
    if isolation not in {"read_uncommitted", "read_committed", None}:
        raise ValueError(f"kafka.isolation.level is {isolation!r}")
    fail_on_data_loss = flag(given, "failOnDataLoss", default=True)
    return SourceOptions(
        paths=_paths(given),
        topics=_topics(given.get("subscribe")),
        pattern=_pattern(given.get("subscribepattern")),
        partitions=parse_partitions(given["assign"]) if "assign" in given else None,
        starting=starting,
        ending=ending,
        columns=parse_columns(given),
        isolation_level=cast("IsolationLevel | None", isolation),
        include_control=flag(given, "includeControl", default=False),
        include_internal=flag(given, "includeInternal", default=False),
        fail_on_data_loss=fail_on_data_loss,
        on_corrupt=_on_corrupt(given),
        max_partition_bytes=positive(given, "maxPartitionBytes", size) or DEFAULT_PARTITION_BYTES,
        min_partitions=positive(given, "minPartitions"),
        max_records=positive(given, "maxRecordsPerPartition"),
        batch_rows=positive(given, "batchRows"),
        max_offsets=positive(given, "maxOffsetsPerTrigger"),
        decode=_decode(given.get("decode")),
        masks=_masks(given),
        tier=parse_tier(given),
        reader=_reader(given),
        min_offsets=_least(given),
        max_delay_ms=positive(given, "maxTriggerDelay", _delay) or DEFAULT_DELAY_MS,
    )


def _least(given: Mapping[str, str]) -> int | None:
    """Return ``minOffsetsPerTrigger``."""
    least, most = (positive(given, f"{each}OffsetsPerTrigger") for each in ("min", "max"))
    if least is not None and most is not None and least > most:
        raise ValueError(f"minOffsetsPerTrigger is {least}, above maxOffsetsPerTrigger, {most}")
    return least


def _delay(text: str) -> int:
    """Return ms; a number without a unit is in ms, as Spark reads it."""
    return int(text) if text.isdigit() else span_ms(text)


def _reader(given: Mapping[str, str]) -> Any:
    """Return which reader is asked for."""
    text = given.get("reader", "auto").strip().lower()
    if text not in {"auto", "python"}:
        raise ValueError(f"reader is {text!r}, not auto or python")
    return text


def _decode(text: str | None) -> dict[str, ColumnDecoding]:
    """Return the decodings of ``{"value": "avro"}``; a format, or some by topic, is of values."""
    if text is None:
        return {}
    if _FORMATS.fullmatch(text.strip()):
        return {"value": formats_of(text.strip())}
    wanted = 'a JSON object such as {"value": "avro"}'
    try:
        found = json.loads(text)
    except ValueError:
        raise ValueError(f"decode is {text!r}, not {wanted}") from None
    if not isinstance(found, dict) or not all(map(_is_format, found.values())):
        raise ValueError(f"decode is {text!r}, not {wanted}")
    for name in found.keys() - {"key", "value"}:
        raise ValueError(f"decode names {name}, not key or value")
    return {name: formats_of(how) for name, how in found.items()}


def _is_format(how: Any) -> bool:
    """Return whether JSON names a format, or that of each topic."""
    every = how.values() if isinstance(how, dict) else [how]
    return all(isinstance(each, str) for each in every)


def _masks(given: Mapping[str, str]) -> Masks:
    """Return the rules of ``mask``, with lines or semicolons between, and the key of hashes."""
    secret = given.get("masksecret")
    rules = given.get("mask", "").replace(";", "\n")
    return Masks.of(rules, None if secret is None else secret.encode())


def _refuse(given: Mapping[str, str], *, streaming: bool) -> None:
    """Raise ValueError for unknown options; warn of those without effect."""
    for name in given:
        if name in _REFUSED:
            raise ValueError(f"option {name} {_REFUSED[name]}")
        if name not in KNOWN and not name.startswith("kafka."):
            other = _OF_A_SCAN.get(name)
            hint = f"; did you mean {other}?" if other else did_you_mean(name, KNOWN)
            hint = hint or f"; options: {', '.join(KNOWN.values())}"
            raise ValueError(f"unknown option {name!r} of kafka-log{hint}")
    refuse_slips(given)
    named = [name for name in _STRATEGIES if name.lower() in given]
    if len(named) > 1:
        raise ValueError(f"only one of {', '.join(_STRATEGIES)} may be given, not {named}")
    if streaming:
        for name in _ONLY_BATCH:
            if name.lower() in given:
                raise ValueError(f"{name} is not valid in streaming queries")
    for name in () if streaming else _ONLY_STREAM:
        if name.lower() in given:
            warnings.warn(f"kafka-log: option {name} has no effect here", stacklevel=4)


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    """Return ``path``, or several: separated by commas as in Kafka's ``log.dirs``, or a pattern."""
    if "paths" in given and "path" not in given:
        named = [plain_path(path) for path in json.loads(given["paths"])]
    else:
        named = paths(given)
    return tuple(each for path in named for each in expanded(path))


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
        raise ValueError(f"subscribePattern is {text!r}: {error}; {_DIALECT}") from error
    return text.strip()


def _on_corrupt(given: Mapping[str, str]) -> Any:
    """Return the effect of damage: from onCorrupt, otherwise from failOnDataLoss."""
    default = "fail" if flag(given, "failOnDataLoss", default=True) else "skip"
    text = given.get("oncorrupt", default).strip().lower()
    if text not in get_args(OnCorrupt):
        raise ValueError(f"onCorrupt is {text!r}, not fail, skip or rows")
    return text
