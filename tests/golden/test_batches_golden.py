"""Every batch and record of every golden log file, against what Kafka's DumpLogSegments printed.

The tool is of the broker's own version; in the cases up to 2.3 that of 3.9.1 speaks too.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden.cases import CASES, Case
from tests.golden.dump_text import DumpSection, LogLine, parse_log
from tests.golden.reading import LogContents, Row, log_files, open_segment, read_log
from workbench.layout import problems

Golden = Callable[[str], Case]

TELLS_INNER_CODEC = {"0.8.2.2", "0.9.0.1", "0.10.0.1", "0.10.2.2"}
"""Versions whose tool lists each message as if no wrapper were around it."""

NOT_OF_A_RECORD = {
    "isvalid",
    "crc",
    "baseOffset",
    "lastOffset",
    "baseSequence",
    "lastSequence",
    "size",
}
"""What 2.8 repeats in a record's line from its batch, and the CRCs of messages inside wrappers."""

BEHIND_A_SHORT_BATCH = {"position", "size", "magic", "baseOffset"}
"""What can be said about a batch shorter than its header; the tool reads on into the next one."""


def differences(wanted: Row, found: Row, left_out: set[str]) -> Row:
    return {
        name: (value, found[name])
        for name, value in wanted.items()
        if name not in left_out and name in found and found[name] != value
    }


def wrong_batches(lines: list[LogLine], log: LogContents, *, stopped: bool) -> Iterator[Any]:
    told = [line.fields for line in lines if line.kind == "batch"]
    if len(told) > len(log.batches) or (len(told) < len(log.batches) and not stopped):
        yield f"{len(told)} batches in the dump, {len(log.batches)} found"
    for wanted, found in zip(told, log.batches, strict=False):
        problem = found["problem"]
        short = problem is not None and problem.code == problems.SHORT_BATCH
        left_out = set(wanted) - BEHIND_A_SHORT_BATCH if short else {"isvalid"}
        if wrong := differences(wanted, found, left_out):
            yield "batch", wanted["position"], wrong
        if not wanted["isvalid"] and problem is None:
            yield "batch", wanted["position"], "should not be valid"
        if wanted["isvalid"] and problem is not None and not stopped and wanted["magic"] <= 2:
            yield "batch", wanted["position"], problem


def records_by_batch(lines: list[LogLine]) -> dict[int, list[Row]]:
    """Return the records of each batch by its position, up to 1.1 told in the record's line."""
    position = None
    found: dict[int, list[Row]] = {}
    for kind, fields in lines:
        if kind == "batch":
            position = fields["position"]
            found.setdefault(position, [])
        else:
            found.setdefault(fields["position"] if position is None else position, []).append(
                fields
            )
    return found


def wrong_records(
    lines: list[LogLine], log: LogContents, version: str, *, stopped: bool
) -> Iterator[Any]:
    left_out = NOT_OF_A_RECORD | ({"compresscodec"} if version in TELLS_INNER_CODEC else set())
    damaged = {problem.position for problem in log.problems}
    told = records_by_batch(lines)
    positions = told if stopped else told | log.records
    for position in sorted(set(positions) - damaged):
        wanted, found = told.get(position, []), log.records.get(position, [])
        if len(wanted) > len(found) or (len(wanted) < len(found) and not stopped):
            yield "records", position, f"{len(wanted)} in the dump, {len(found)} found"
        for a, b in zip(wanted, found, strict=False):
            if wrong := differences(a, b, left_out):
                yield "record", a["offset"], wrong


def compare(section: DumpSection, log: LogContents, version: str) -> list[Any]:
    lines = list(parse_log(section))
    # An exception ends the tool's text; that of the old ones was not kept.
    stopped = "EXCEPTION" in section.text or bool(log.problems)
    # 0.10.0.1 cannot read what its own cleaner writes: KAFKA-4298.
    stopped |= version == "0.10.0.1" and "mw-0" in section.file
    wrong = list(wrong_batches(lines, log, stopped=stopped)) if has_batches(lines) else []
    if any(line.kind == "record" for line in lines):  # none of large files
        wrong += wrong_records(lines, log, version, stopped=stopped)
    return wrong


def has_batches(lines: list[LogLine]) -> bool:
    return any(line.kind == "batch" for line in lines)


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_every_batch_and_record_is_what_the_dump_says(name: str, golden: Golden) -> None:
    """DU-1 DU-2 FR-4 FR-6 DB-2 DB-11 MR-2 CR-4 for real logs."""
    case = golden(name)
    wrong = []
    compared = 0
    for label in case.labels:
        read: dict[str, LogContents] = {}
        for version in case.dump_versions(label):
            dump = case.dump(label, version)
            for file in log_files(case, label, version):
                if file not in read:
                    read[file] = read_log(open_segment(case.directory(label) / file))
                for section in dump.of(file):
                    if "decoder" not in section.options:
                        found = compare(section, read[file], version)
                        wrong += [(label, version, file, what) for what in found]
                        compared += 1
    assert wrong == []
    assert compared


def test_a_checkpoint_of_kraft_reads_like_a_log(golden: Golden) -> None:
    """DU-7: snapshots of cluster metadata are batches; the first and last are control batches."""
    compared = 0
    for name in ("4.2.0-raft", "4.2.0-raft-dynamic", "3.9.1-raft"):
        case = golden(name)
        for label in case.labels:
            for version in case.dump_versions(label):
                for file in case.dump(label, version).files:
                    if file.endswith(".checkpoint"):
                        log = read_log(open_segment(case.directory(label) / file))
                        section = case.dump(label, version).of(file)[0]
                        assert compare(section, log, version) == []
                        assert log.batches[0]["isControl"]
                        assert log.batches[-1]["isControl"]
                        compared += 1
    assert compared > 10


def test_sizes_of_batches_add_up_to_the_file(golden: Golden) -> None:
    for name in ("4.2.0-plain-java", "k2.3-formats", "k0.9-formats", "upgrade-chain"):
        case = golden(name)
        for path in Path(case.path).rglob("*.log"):
            log = read_log(open_segment(path))
            assert sum(batch["size"] for batch in log.batches) == path.stat().st_size
