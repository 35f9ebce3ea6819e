"""Hold the answer of a preflight: a verdict per topic, what is in the way, the steps to take."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from workbench.foresight.preflight.concern import Concern
from workbench.foresight.preflight.first_minutes import FirstMinutes
from workbench.foresight.startup.prediction import StartupPrediction
from workbench.inspection.broker_version import MeantBroker
from workbench.inspection.facts.html import Cell, table_html
from workbench.inspection.facts.text_table import text_table
from workbench.runtime.times import duration_text
from workbench.runtime.words import plural, safe, safe_lines, size_text

TopicVerdict = Literal[
    "served",          # with every record that is in its logs
    "expiring",        # but the first check of retention deletes records, here or in the tier
    "damaged",         # but records are lost at the start, or damage is not detected
    "empty",           # the node makes empty logs, because these directories have none
    "empty in part",   # of some partitions
    "served in part",  # some partitions are not
    "not served",
    "deleted",         # in the cluster; the broker removes what is left of it
    "unknown",         # it cannot be said from these directories
]  # fmt: skip

SHOWN: Final = 100  # rows of a table for people


@dataclass(frozen=True, slots=True)
class TopicPreflight:
    """The answer for one topic.

    Attributes:
        topic: its name, as far as the names of directories have it.
        verdict: see `TopicVerdict`.
        partitions: the number of its partitions with a log here, or that the node creates.
        size: bytes of its logs' segments before the start.
        recovery_bytes: bytes that recovery reads.
        bytes_cut: bytes that the start truncates.
        records_lost: records that can be read now, and that the start removes; None: not known.
        records_deleted: records that the first check of retention deletes.
        records_compacted: records that the first round of the cleaner drops.
        reason: why, with the partition; empty if it is served.
    """

    topic: str
    verdict: TopicVerdict
    partitions: int
    size: int
    recovery_bytes: int
    bytes_cut: int
    records_lost: int | None
    records_deleted: int
    records_compacted: int
    reason: str


@dataclass(frozen=True, slots=True)
class DirectoryPreflight:
    """The identity of one log directory.

    Attributes:
        path: the log directory.
        verdict: as `DirectoryStart` has it.
        cluster_id, node_id, directory_id: of its `meta.properties`; None if it has none.
        had_clean_shutdown: whether the clean shutdown file exists.
        recovery_bytes: bytes that recovery reads at the start.
    """

    path: str
    verdict: str
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    had_clean_shutdown: bool
    recovery_bytes: int


@dataclass(frozen=True, slots=True)
class RecoveryCost:
    """How much recovery reads, and how long that takes.

    Attributes:
        size: bytes that it reads in all directories.
        threads: per log directory.
        rate: bytes per second of one thread; None if it is neither given nor measured.
        source: where the rate is from, as a clause.
        seconds: the time of the slowest directory; None without a rate.
    """

    size: int
    threads: int
    rate: float | None
    source: str
    seconds: float | None

    def __str__(self) -> str:
        if not self.size:
            return "recovery reads nothing"
        read = f"recovery reads {self.size:,} bytes"
        if self.rate is None or self.seconds is None:
            return f"{read}: {self.source}"
        rate = f"{size_text(self.rate)}/s per thread, {self.source}"
        count = plural(self.threads, "thread")
        time = duration_text(1000 * self.seconds)
        return f"{read}: about {time} with {count} per log directory ({rate})"


@dataclass(frozen=True, slots=True)
class Preflight:
    """Whether topics are served after a start on these directories; iterating gives the topics.

    Attributes:
        prediction: what the start does, from which every verdict follows.
        shown: the version that the directories show.
        directories: in the given order.
        topics: sorted by name.
        concerns: errors first.
        recovery: what recovery reads.
        first_minutes: what happens after the start; None: it was not looked at.
    """

    prediction: StartupPrediction
    shown: MeantBroker
    directories: tuple[DirectoryPreflight, ...]
    topics: tuple[TopicPreflight, ...]
    concerns: tuple[Concern, ...]
    recovery: RecoveryCost
    first_minutes: FirstMinutes | None = None

    def __iter__(self) -> Iterator[TopicPreflight]:
        return iter(self.topics)

    def __len__(self) -> int:
        return len(self.topics)

    def __getitem__(self, topic: str) -> TopicPreflight:
        """Return the answer for a topic.

        Raises:
            KeyError: no directory has a log of the topic.
        """
        for row in self.topics:
            if row.topic == topic:
                return row
        raise KeyError(topic)

    @property
    def broker(self) -> MeantBroker:
        """The broker that is assumed, and why that one."""
        return self.prediction.broker

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps to take, each once, the most urgent first."""
        return tuple(dict.fromkeys(each.action for each in self.concerns if each.action))

    @property
    def summary(self) -> str:
        """The answer in one sentence."""
        if not self.prediction.starts:
            return f"no topic is served: the broker does not start: {self.prediction.problem}"
        counts: dict[str, int] = {}
        for row in self.topics:
            counts[row.verdict] = counts.get(row.verdict, 0) + 1
        words = [f"{count:,} {verdict}" for verdict, count in counts.items()]
        return f"the broker starts; topics: {', '.join(words) or 'none'}"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON; the prediction is `predict`'s."""
        minutes = self.first_minutes or FirstMinutes()
        return {
            "broker": self.broker._asdict(),
            "shown": self.shown._asdict(),
            "starts": self.prediction.starts,
            "summary": self.summary,
            "directories": [asdict(each) for each in self.directories],
            "topics": [asdict(each) for each in self.topics],
            "concerns": [asdict(each) for each in self.concerns],
            "recovery": asdict(self.recovery),
            "passes": [each._asdict() for each in minutes.passes],
            "tiers": [each._asdict() for each in minutes.tiers],
            "groups": [each._asdict() for each in minutes.restarts],
            "transactions": [each._asdict() for each in minutes.transactions],
            "steps": list(self.steps),
        }

    def cells(self) -> list[list[Cell]]:
        """Return one row of cells per topic, as `COLUMNS` names them."""
        return [
            [row.topic, row.verdict, row.partitions, row.size, row.recovery_bytes, row.bytes_cut,
             row.records_lost, row.records_deleted, row.records_compacted, row.reason]
            for row in self.topics
        ]  # fmt: skip

    def __repr__(self) -> str:
        return safe(f"<Preflight {self.summary}>")

    def __str__(self) -> str:
        rows = text_table(COLUMNS, self.cells())
        concerns = [f"{each.severity}: {each.what}" for each in self.concerns]
        steps = [f"{number}. {step}" for number, step in enumerate(self.steps, 1)]
        return safe_lines(
            [str(self.broker), *rows, *concerns, *steps, str(self.recovery), self.summary]
        )

    def _repr_html_(self) -> str:
        steps = "; ".join(f"{number}. {step}" for number, step in enumerate(self.steps, 1))
        note = ". ".join(part for part in (str(self.broker), str(self.recovery), steps) if part)
        return table_html(
            self.summary, COLUMNS, self.cells()[:SHOWN], note, sentences=["why"]
        )  # fmt: skip


COLUMNS: Final = (
    "topic", "verdict", "partitions", "bytes", "recovery reads", "bytes cut", "records lost",
    "deleted", "compacted", "why",
)  # fmt: skip
"""The names of what `Preflight.cells` returns."""
