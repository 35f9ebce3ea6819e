"""`.kafka_cleanshutdown`: the broker closed every log of this directory before it stopped.

The file's existence says so; a broker deletes it as soon as it loads the logs. Up to 3.6 it is
empty, since 3.7 it holds one JSON object with the broker epoch. A file that cannot be parsed still
means a clean shutdown.

Kafka: CleanShutdownFileHandler (4.0)
"""

import json
from dataclasses import dataclass
from typing import Final, Self

from workbench.errors import CorruptCheckpointError
from workbench.files import text
from workbench.files.reading import KIB, FileProblem, ProblemList, SmallFile
from workbench.layout.integers import INT32_MAX, INT64_MAX

NO_BROKER_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class CleanShutdown(SmallFile):
    """The contents of the clean shutdown file.

    Attributes:
        broker_epoch: the stopped broker's epoch; None if it did not know it, or up to 3.6.
        version: the JSON's version; None up to 3.6.
        problems: see `reading`.
    """

    broker_epoch: int | None = None
    version: int | None = None
    problems: tuple[FileProblem, ...] = ()

    corrupt_error = CorruptCheckpointError
    size_limit = 64 * KIB

    @classmethod
    def _parse(cls, data: bytes, problems: ProblemList) -> Self:
        if not data:
            return cls()
        fields = text.parse_json_object(data, problems)
        if fields is None:
            return cls(problems=problems.found())
        version = text.json_integer(fields, "version", INT32_MAX, problems)
        epoch = text.json_integer(fields, "brokerEpoch", INT64_MAX, problems)
        return cls(None if epoch == NO_BROKER_EPOCH else epoch, version, problems.found())

    def encode(self) -> bytes:
        """Return the file's bytes."""
        if self.version is None:
            return b""
        epoch = NO_BROKER_EPOCH if self.broker_epoch is None else self.broker_epoch
        fields = {"version": self.version, "brokerEpoch": epoch}
        return json.dumps(fields, separators=(",", ":")).encode()
