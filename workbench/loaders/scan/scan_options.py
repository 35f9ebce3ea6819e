"""The options of a scan, and a signature that shows them; needs no Arrow."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from workbench.loaders.scan.plan import IsolationLevel, OffsetRange, TimeRange
from workbench.runtime.signatures import Function, shows

if TYPE_CHECKING:
    from workbench.loaders.queries.query import Query
    from workbench.values.masking import AnyMasks
    from workbench.values.registry import AnyDecoding

OnCorrupt = Literal["report", "raise"]


class LogOptions(TypedDict, total=False):
    """The keyword arguments of `Scan`, which describes them, but for those that choose logs."""

    offsets: str | int | OffsetRange | Mapping[str, OffsetRange] | None
    timestamps: str | TimeRange | None
    where: "str | Query"
    columns: Iterable[str] | str | None
    decode: "Mapping[str, AnyDecoding] | str | None"
    mask: "AnyMasks"
    isolation_level: IsolationLevel
    limit: int | None
    include_control: bool
    check_crc: bool
    on_corrupt: OnCorrupt
    workers: int | None
    everything: bool
    latest: bool


class RecordOptions(LogOptions, total=False):
    """The keyword arguments of `Scan`, but for its topics."""

    partitions: Iterable[int | str] | int | str | None


class ScanOptions(RecordOptions, total=False):
    """The keyword arguments of `Scan`."""

    topics: Iterable[str] | str | None


DEFAULTS: Final[Mapping[str, Any]] = {
    "where": "",
    "isolation_level": "read_uncommitted",
    "include_control": False,
    "check_crc": True,
    "on_corrupt": "report",
    "everything": False,
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
            name, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS.get(name), annotation=kind
        )
        for name, kind in ScanOptions.__annotations__.items()
        if name not in others
    )
