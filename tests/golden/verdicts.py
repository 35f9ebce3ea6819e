"""What `verify` says of the golden directories, worked out once; and what was done to them."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.golden.cases import CASES, Case
from workbench.inspection.findings import Finding
from workbench.inspection.verify.verify import verify

ENTRY_SIZES = {".index": 8, ".timeindex": 12, ".txnindex": 34}


@cache
def findings_of(directory: Path, kafka: str | None = None) -> tuple[Finding, ...]:
    """Return the findings of one log directory, with paths relative to it.

    Args:
        directory: the log directory.
        kafka: the version of the broker that they speak of; None: as the directory shows.
    """
    found = verify(directory, kafka=kafka)
    prefix = f"{directory}/"
    return tuple(
        Finding(**{**each.as_dict(), "path": each.path.removeprefix(prefix)}) for each in found
    )


def of_topic(directory: Path, topic: str, kafka: str | None = None) -> list[Finding]:
    """Return the findings in the folder of a topic's only partition."""
    folder = f"{topic}-0"
    return [f for f in findings_of(directory, kafka) if f.path.split("/")[0] == folder]


class Edit(NamedTuple):
    """One documented edit of one topic, before a broker was started on the directory.

    Attributes:
        name: what was done: ``flip-value``; those of the older cases begin with ``d-``.
        topic: where.
        text: which bytes of which file, in the case's words.
        before, after: the directories as labels; ``after`` is the same broker's, stopped again.
    """

    name: str
    topic: str
    text: str
    before: str
    after: str


DAMAGED = [case.name for case in CASES if re.match(r"damage(-clean|-unclean.*)?$", case.kind)]


def edits_of(case: Case) -> Iterator[Edit]:
    """Yield the edits of a case with a topic for each kind of damage."""
    if case.kind != "damage":
        yield from _modern_edits(case)
        return
    for step in case.info["steps"]:
        if "damage" not in step:
            continue
        mode = step["damage"]
        done = dict.fromkeys(case.info["topics"], "") | step["done"]
        for topic, what in done.items():
            text = "; ".join(what) if isinstance(what, list) else what
            yield Edit(topic, topic, text, f"{mode}-before", f"{mode}-after")


def _modern_edits(case: Case) -> Iterator[Edit]:
    for step in case.info["steps"]:
        if step["do"] == "edit":
            topic = step["topic"]
            yield Edit(topic.removeprefix("dmg-"), topic, step["edit"], "before", "after")
    for topic, fatal in case.info["headline"].get("fatal", {}).items():
        folder = f"fatal/{topic}"
        name = topic.removeprefix("dmg-")
        yield Edit(name, topic, fatal["edit"], f"{folder}/before", f"{folder}/after")


class Place(NamedTuple):
    """The first file and byte that an edit names; None where it names no byte."""

    file: str
    position: int | None


def place_of(edit: Edit, folder: Path) -> Place | None:
    """Return where the finding about an edit should point; None where the edit names no byte.

    For a `.log` the batch that the byte is in, for an index the entry.
    """
    found = re.match(
        r"(\S+): (?:\d+ bytes at (\d+)|truncated from \d+ to (\d+)|\d+ bytes appended at (\d+)"
        r"|byte (\d+) \^=|\d+ -> (\d+) bytes)",
        edit.text,
    )
    if found is None:
        return None
    byte = int(next(group for group in found.groups()[1:] if group is not None))
    file = folder / found[1]
    if not file.exists() or file.suffix == ".snapshot":
        return None
    if file.suffix in ENTRY_SIZES:
        return Place(found[1], byte - byte % ENTRY_SIZES[file.suffix])
    if file.suffix == ".log":
        return Place(found[1], _batch_start(file.read_bytes(), byte))
    return Place(found[1], None)


def _batch_start(data: bytes, byte: int) -> int:
    """Return where the batch begins that holds ``byte``, or would if the file were longer."""
    position = 0
    while position + 12 <= len(data):
        end = position + 12 + int.from_bytes(data[position + 8 : position + 12])
        if end > byte:
            break
        position = end
    return position
