"""What a broker will do with log directories when it starts, as rows of a table.

Kafka: what LogManager.startup (4.2) would do
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from workbench.log.steps import Step
from workbench.log_manager.consumer import ConsumerView

Verdict = Literal[
    "loads",      # as it is; what the steps tell changes no record
    "recovers",   # segments are read again, and maybe cut
    "stray",      # the folder is set aside and not served
    "deleted",    # the folder is marked for deletion
    "future",     # a copy that was moving in from another directory
    "offline",    # it takes its directory offline
    "refuses",    # the broker does not start
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class DirectoryStart:
    """One log directory.

    Attributes:
        path: of the directory.
        had_clean_shutdown: whether the marker is there; without it logs are recovered.
        verdict: "online"; "offline": the broker goes on without it, if there is another;
            "refuses": the broker does not start.
        exception: Kafka's name for what it throws; empty if nothing.
        problem: what is wrong; empty if nothing.
    """

    path: str
    had_clean_shutdown: bool
    verdict: Literal["online", "offline", "refuses"]
    exception: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PartitionStart:
    """One folder of a log directory; what happens to it if no other takes the directory offline.

    Attributes:
        directory: path of the log directory.
        name: of the folder.
        verdict: see `Verdict`.
        reason: why; empty where it loads as it is.
        exception: Kafka's name for what is thrown; empty if nothing.
        recovered_from: first offset that is read again; None if nothing is.
        bytes_cut: from the ends of segments, and of the segments that go whole.
        log_start_offset: once it is loaded; None if it is not.
        log_end_offset: as ``log_start_offset``.
        changes: what is done to its files, in order, a sentence each.
        unnoticed: damage that the broker does not notice, and what it leads to.
        consumers: what consumers meet then, read_uncommitted first; read_committed only where
            there are transactions. Empty where it is not served, or was not asked for.
        steps: everything that the loading code told.
    """

    directory: str
    name: str
    verdict: Verdict
    reason: str = ""
    exception: str = ""
    recovered_from: int | None = None
    bytes_cut: int = 0
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    changes: tuple[str, ...] = ()
    unnoticed: tuple[str, ...] = ()
    consumers: tuple[ConsumerView, ...] = ()
    steps: tuple[Step, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes as plain values, for JSON; without the steps."""
        found = {name: getattr(self, name) for name in _SHOWN}
        found["changes"] = list(self.changes)
        found["unnoticed"] = list(self.unnoticed)
        found["consumers"] = [asdict(view) for view in self.consumers]
        return found


_SHOWN: Final = (
    "directory",
    "name",
    "verdict",
    "reason",
    "exception",
    "recovered_from",
    "bytes_cut",
    "log_start_offset",
    "log_end_offset",
)


@dataclass(frozen=True, slots=True)
class StartupPrediction:
    """What a broker does with its log directories; iterating gives the partitions.

    Attributes:
        starts: whether it starts at all.
        problem: why it does not; empty if it does.
        exception: Kafka's name for what it throws then; empty if it halts without.
        directories: in the order they were given.
        partitions: by directory and name.
    """

    starts: bool
    problem: str
    exception: str
    directories: tuple[DirectoryStart, ...]
    partitions: tuple[PartitionStart, ...]

    def __iter__(self) -> Iterator[PartitionStart]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, name: str) -> PartitionStart:
        """Return the prediction for the folder of a name.

        Raises:
            KeyError: there is none.
        """
        for partition in self.partitions:
            if partition.name == name:
                return partition
        raise KeyError(name)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "starts": self.starts,
            "problem": self.problem,
            "exception": self.exception,
            "directories": [asdict(directory) for directory in self.directories],
            "partitions": [partition.as_dict() for partition in self.partitions],
        }
