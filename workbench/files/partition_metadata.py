"""`partition.metadata`: the id of the topic that a partition directory belongs to.

Two lines, the last without a line end: `version: 0` and `topic_id: <22 characters>`. A broker
compares the id, not the directory's name, with the cluster's metadata.

Kafka: PartitionMetadataFile (2.8 to 4.4)
"""

import re
from dataclasses import dataclass
from typing import Final, Self
from uuid import UUID

from workbench.errors import CorruptCheckpointError
from workbench.files import text
from workbench.files.reading import KIB, FileProblem, ProblemList, SmallFile
from workbench.layout.integers import INT32_MAX

_SEPARATOR: Final = re.compile(r":\s+", re.ASCII)


@dataclass(frozen=True, slots=True)
class PartitionMetadata(SmallFile):
    """A topic's id.

    Attributes:
        topic_id: None only if the file is damaged; `text.format_uuid` writes it as Kafka does.
        version: 0; a broker since 3.7 accepts any that is not negative. None if the file is
            damaged.
        problems: see `reading`.
    """

    topic_id: UUID | None
    version: int | None = 0
    problems: tuple[FileProblem, ...] = ()

    corrupt_error = CorruptCheckpointError
    size_limit = 64 * KIB

    @classmethod
    def _parse(cls, data: bytes, problems: ProblemList) -> Self:
        lines = list(text.split_lines(data))
        version_text = _value(lines, 0, "version: 0", len(data), problems)
        version = None if version_text is None else text.parse_integer(version_text, INT32_MAX)
        if version_text is not None and version is None:
            problems.add("malformed", 0, f"version {text.quote(version_text)}", "a number")
        elif version is not None and version < 0:
            problems.add("unknown version", 0, f"version {version}", "0")
        id_text = _value(lines, 1, "topic_id: and 22 characters", len(data), problems)
        topic_id = None if id_text is None else text.parse_uuid(id_text)
        if id_text is not None and topic_id in {None, text.NO_UUID}:
            found = f"topic id {text.quote(id_text)}"
            problems.add(
                "bad value", lines[1].position, found, "22 characters of base64, not all A"
            )
        return cls(topic_id, version, problems.found())

    def ends_a_broker(self) -> FileProblem | None:
        """Return the problem with which a broker of any version does not start.

        A reader without a line, and an id that is none, are no failures of a disk for it: they end
        the process. Any other problem takes the log directory offline.

        Kafka: PartitionMetadataReadBuffer.read, Uuid.fromString (2.8 to 4.4)
        """
        for problem in self.problems[:1]:
            is_no_id = problem.kind == "bad value" and self.topic_id != text.NO_UUID
            if problem.kind == "missing" or is_no_id:
                return problem
        return None

    def encode(self) -> bytes:
        """Return the file's bytes."""
        assert self.topic_id is not None
        return f"version: {self.version}\ntopic_id: {text.format_uuid(self.topic_id)}".encode()


def is_made_again(before: str | None, now: str | None) -> bool:
    """Return whether a topic was deleted and made again: its id is another than it was before.

    If one of the two is not known (None), it is taken for the same topic.
    """
    return None not in {before, now} and before != now


def _value(
    lines: list[text.Line], number: int, expected: str, size: int, problems: ProblemList
) -> str | None:
    """Return the text after the colon; a broker ignores the text before it."""
    if number >= len(lines):
        problems.add("missing", size, f"{len(lines)} lines", expected)
        return None
    parts = _SEPARATOR.split(lines[number].text)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    if len(parts) == 2:
        return parts[1]
    found = f"line {text.quote(lines[number].text)}"
    problems.add("malformed", lines[number].position, found, expected)
    return None
