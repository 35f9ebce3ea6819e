"""What a scan reads of each partition of a directory, and what it is compared with."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pyarrow as pa
from click.testing import CliRunner

import workbench as wb
from tests.campaign.calls import DOCUMENTED
from workbench.cli.main import main

LARGEST: Final = 1 << 20  # bytes of the logs of a partition that is compared
HIDDEN: Final = frozenset({
    # What batch headers do not show: `record_counts` counts these records, and says so.
    "crc", "compression", "record", "record-count", "batch-too-large", "record-offset",
})  # fmt: skip


class DifferentAnswersError(AssertionError):
    """Two paths answer one question differently."""


class Read(NamedTuple):
    """What a scan reads of a partition.

    Attributes:
        offsets: of the records that a read_uncommitted consumer gets, ascending.
        committed: of those that a read_committed consumer gets.
        controls: of control records.
        is_plain: whether nothing was damaged that batch headers do not show.
        is_ordered: whether no batches contradict each other: which of them is left out depends on
            the batches that are read.
    """

    offsets: list[int]
    committed: list[int]
    controls: list[int]
    is_plain: bool
    is_ordered: bool


def same(question: str, **answers: Any) -> None:
    """Raise if answers to a question differ."""
    first, *others = answers.values()
    if any(each != first for each in others):
        told = ", ".join(f"{name}: {_short(answer)}" for name, answer in answers.items())
        raise DifferentAnswersError(f"{question}: {told}")


def _short(answer: object) -> str:
    text = repr(answer)
    return text if len(text) < 120 else f"{text[:100]} … ({len(text)} characters)"


def printed_by(*arguments: object) -> str:
    """Return what a command prints, whatever it exits with; empty if it refuses."""
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    return "" if result.exit_code == 1 else result.stdout


def _read(logs: wb.LogDirectory, name: str) -> Read:
    """Read a partition with scans."""

    def offsets(**options: Any) -> tuple[list[int], list[bool], set[str]]:
        scan = logs.scan(partitions=name, columns=["offset", "is_control"], **options)
        table = scan.to_arrow()
        offsets, is_control = (column.to_pylist() for column in table.columns)
        return offsets, is_control, {finding.kind for finding in scan.findings}

    every, is_control, kinds = offsets(include_control=True)
    committed, _, _ = offsets(isolation_level="read_committed")
    return Read(
        [offset for offset, control in zip(every, is_control, strict=True) if not control],
        committed,
        [offset for offset, control in zip(every, is_control, strict=True) if control],
        not kinds & HIDDEN,
        not kinds & {"offset-order", "offset-range"},
    )


def small(logs: wb.LogDirectory) -> Iterator[tuple[wb.Partition, Read]]:
    """Yield the logs that are compared, with what a scan reads of each."""
    for name, partition in logs.items():
        if partition.kind == "log" and partition.size <= LARGEST and partition.segments:
            try:
                yield partition, _read(logs, name)
            except DOCUMENTED:
                continue


def offsets_of(table: pa.Table) -> list[int]:
    """Return the offsets of a table of records."""
    found: list[int] = table["offset"].to_pylist()
    return found
