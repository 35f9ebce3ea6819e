"""The options of a scan, and a signature that shows them; needs no Arrow."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from workbench.inspection.listing import Listing
from workbench.inspection.transactions import IsolationLevel
from workbench.loaders.scan.plan import OffsetRange, TimeRange, choose_partitions
from workbench.runtime.several import Names, Partitions
from workbench.runtime.signatures import Function, shows

if TYPE_CHECKING:
    from workbench.loaders.queries.query import Query
    from workbench.values.masking import AnyMasks
    from workbench.values.registry import ColumnDecoding

OnCorrupt = Literal["report", "raise"]


class LogOptions(TypedDict, total=False):
    """The keyword arguments of `Scan`, which describes them, but for those that choose logs."""

    offsets: str | int | OffsetRange | Mapping[str, OffsetRange] | None
    timestamps: str | TimeRange | None
    where: "str | Query"
    columns: Names
    decode: "Mapping[str, ColumnDecoding] | str | None"
    mask: "AnyMasks"
    isolation_level: IsolationLevel
    limit: int | None
    include_control: bool
    rescue: bool
    on_corrupt: OnCorrupt
    workers: int | None
    everything: bool
    include_internal: bool
    latest: bool


class RecordOptions(LogOptions, total=False):
    """The keyword arguments of `Scan`, but for its topics."""

    partitions: Partitions


class ScanOptions(RecordOptions, total=False):
    """The keyword arguments of `Scan`."""

    topics: Names


OTHER_OPTIONS: Final = {
    "since": '; did you mean timestamps=("2026-11-25", None)?',
    "until": '; did you mean timestamps=(None, "2026-11-25")?',
    **{
        f"{column}_format": f'; did you mean decode={{"{column}": …}}?'
        for column in ("key", "value")
    },
}
"""What the command line calls an option, and the option here."""


DEFAULTS: Final[Mapping[str, Any]] = {
    "where": "",
    "isolation_level": "read_uncommitted",
    "include_control": False,
    "rescue": False,
    "on_corrupt": "report",
    "everything": False,
    "include_internal": False,
    "latest": False,
}
"""What options are that are not given; the others are None."""


def takes_scan_options(*others: str) -> Callable[[Function], Function]:
    """Let `help`, editors and notebooks show the options that a function passes on to a scan.

    Args:
        others: the options that it does not take.
    """
    return shows(
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=DEFAULTS.get(name),
            annotation=getattr(kind, "__forward_arg__", kind),
        )
        for name, kind in ScanOptions.__annotations__.items()
        if name not in others
    )


def by_column(
    decode: "Mapping[str, ColumnDecoding] | ColumnDecoding", columns: Collection[str]
) -> "Mapping[str, ColumnDecoding]":
    """Return decodings by column: ``"auto"`` alone is of keys and values, others of values."""
    if isinstance(decode, Mapping):
        return decode
    if decode == "auto":
        return {name: decode for name in ("key", "value") if name in columns}
    return {"value": decode}


def known_decodings(
    decode: "Mapping[str, ColumnDecoding]", columns: Sequence[str], listing: Listing
) -> "dict[str, ColumnDecoding]":
    """Return decodings by column.

    Raises:
        LookupError: a column is neither key nor value, or not read; or a topic is not there.
        SchemaError: a format is unknown.
    """
    for name in decode:
        if name not in {"key", "value"} or name not in columns:
            raise LookupError(f"unknown column {name} to decode")
    if decode:
        from workbench.values.by_topic import OTHERS, formats_of
        from workbench.values.registry import known

        decode = {name: formats_of(how) for name, how in decode.items()}
        for how in decode.values():
            by_topic = how if isinstance(how, Mapping) else {OTHERS: how}
            for topic, decoding in by_topic.items():
                if topic != OTHERS:
                    choose_partitions(listing, topic, None, everything=True)
                known(decoding)
    return dict(decode)
