"""Do with our transaction coordinator what a line says, and tell it as `Transactions.java` does."""

from collections.abc import Callable
from pathlib import Path

from tests.coordinator.serving.house import UnreliableManager
from workbench.coordinator.transaction_coordinator.config import TransactionConfig
from workbench.coordinator.transaction_coordinator.listing import TransactionFilter
from workbench.coordinator.transaction_coordinator.producer_ids import Deliver, ProducerIdsBlock
from workbench.coordinator.transaction_coordinator.request_checks import ProducerIdAndEpoch
from workbench.coordinator.transaction_coordinator.transaction_coordinator import (
    TransactionCoordinator,
)
from workbench.coordinator.transactions.states import TransactionVersion
from workbench.coordinator.transactions.transaction_metadata import TransactionMetadata
from workbench.errors import InvalidTransitionError, UnsupportedFormatError, WorkbenchError
from workbench.files.names import TopicPartition
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.clock import ManualClock
from workbench.runtime.error_codes import code_of
from workbench.runtime.scheduler import ManualScheduler, Task

STATE = "__transaction_state"
NOW = 1_700_000_000_000
COMPACT = {"cleanup.policy": "compact"}


class OneRound:
    """A scheduler whose tasks wait for `run`; periodic ones never run."""

    def __init__(self) -> None:
        self._tasks: list[Task] = []

    def schedule(
        self, name: str, task: Callable[[], None], delay_ms: int = 0, period_ms: int | None = None
    ) -> Task:
        """Keep a task; see `Scheduler`."""
        kept = Task(name, task, delay_ms, period_ms)
        if period_ms is None:
            self._tasks.append(kept)
        return kept

    def run(self) -> None:
        """Run the tasks that were there before."""
        due, self._tasks = self._tasks, []
        for task in due:
            task.action()

    def shutdown(self) -> None:
        """Forget all tasks."""
        self._tasks.clear()


def parse(text: str) -> TopicPartition:
    """Return a partition by its name."""
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


class Ours:
    """Our coordinator with its logs, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock(NOW)
        self.manager = UnreliableManager(
            [folder],
            {"log.cleaner.enable": False, "transaction.partition.verification.enable": False},
            clock=self.clock,
            scheduler=ManualScheduler(self.clock),
            topic_configs=dict.fromkeys([STATE, "orders", "payments"], COMPACT),
        )
        self.manager.startup(with_tasks=False)
        self.tasks = OneRound()
        self.gives = True
        self.next_block = 4000
        self.shown: dict[str, int] = {}
        self.epochs: dict[str, int] = {}
        self.coordinator: TransactionCoordinator | None = None

    def _give(self, deliver: Deliver) -> None:
        if not self.gives:
            deliver(None)
            return
        self.next_block += 3
        deliver(ProducerIdsBlock(self.next_block - 3, 3))

    @property
    def states(self) -> dict[str, TransactionMetadata]:
        """The states of all transactional ids."""
        assert self.coordinator is not None
        owned = self.coordinator.states.owned.values()
        return {each.transactional_id: each for _, states in owned for each in states}

    def do(self, line: str) -> list[str]:
        """Do what a line says; return the lines that tell about it."""
        try:
            answer = self._do(*line.split(" "))
        except InvalidTransitionError:
            answer = "error IllegalStateException"
        except UnsupportedFormatError:
            answer = "error UnsupportedVersionException"
        except ValueError:
            answer = "error IllegalArgumentException"
        return [f"> {line}", f"= {answer}", *self._state()]

    def _do(self, what: str, *words: str) -> str:
        if what == "start":
            self.coordinator = TransactionCoordinator(
                self.manager,
                TransactionConfig(
                    num_partitions=int(words[0]),
                    transaction_version=TransactionVersion(int(words[1])),
                    transactional_id_expiration_ms=int(words[2]),
                ),
                clock=self.clock,
                scheduler=self.tasks,
                request_block=self._give,
            )
            return "done"
        return getattr(self, f"_{what}")(*words) or "done"

    def _make(self, where: str) -> None:
        self.manager.get_or_create_log(parse(where))

    def _delete(self, where: str) -> None:
        self.manager.async_delete(parse(where))
        self.shown.pop(where, None)

    def _away(self, where: str) -> None:
        self.manager.away |= {parse(where)}

    def _back(self, where: str) -> None:
        self.manager.away -= {parse(where)}

    def _limit(self, size: str) -> None:
        self.manager.update_topic_config(STATE, {**COMPACT, "max.message.bytes": size})

    def _clock(self, ms: str) -> None:
        self.clock.advance(int(ms))

    def _ids(self, which: str) -> None:
        self.gives = which == "on"

    def _elect(self, number: str, epoch: str) -> None:
        assert self.coordinator is not None
        self.epochs[f"{STATE}-{number}"] = int(epoch)
        self.coordinator.on_election(int(number), int(epoch))

    def _resign(self, number: str, epoch: str) -> None:
        assert self.coordinator is not None
        self.coordinator.on_resignation(int(number), None if epoch == "none" else int(epoch))

    def _run(self) -> None:
        self.tasks.run()

    def _init(self, name: str, timeout: str, *expected: str) -> str:
        assert self.coordinator is not None
        known = ProducerIdAndEpoch(int(expected[0]), int(expected[1])) if expected else None
        found = self.coordinator.init_producer_id("" if name == "-" else name, int(timeout), known)
        return f"{found.producer_id} {found.producer_epoch} {found.error.name}"

    def _add(self, name: str, producer: str, epoch: str, version: str, partitions: str) -> str:
        assert self.coordinator is not None
        return self.coordinator.add_partitions_to_transaction(
            "" if name == "-" else name,
            int(producer),
            int(epoch),
            map(parse, partitions.split(",")),
            TransactionVersion(int(version)),
        ).name

    def _verify(self, name: str, producer: str, epoch: str, partitions: str) -> str:
        assert self.coordinator is not None
        found = self.coordinator.verify_partitions_in_transaction(
            "" if name == "-" else name,
            int(producer),
            int(epoch),
            map(parse, partitions.split(",")),
        )
        return " ".join(sorted(f"{where}:{error.name}" for where, error in found.items()))

    def _end(self, name: str, producer: str, epoch: str, end: str, version: str) -> str:
        assert self.coordinator is not None
        found = self.coordinator.end_transaction(
            "" if name == "-" else name,
            int(producer),
            int(epoch),
            commit=end == "commit",
            client_version=TransactionVersion(int(version)),
        )
        return f"{found.producer_id} {found.producer_epoch} {found.error.name}"

    def _abort(self) -> None:
        assert self.coordinator is not None
        self.coordinator.abort_timed_out_transactions()

    def _expire(self) -> None:
        assert self.coordinator is not None
        self.coordinator.states.remove_expired_transactional_ids()

    def _produce(self, where: str, data: str) -> str:
        log = self.manager.get_log(parse(where))
        if log is None:
            return "UNKNOWN_TOPIC_OR_PARTITION"
        try:
            records = MemoryRecords.copy_of(bytes.fromhex(data))
            log.append_as_leader(records, self.epochs.get(where, 0))
        except WorkbenchError as error:
            return code_of(error).name
        return "NONE"

    def _list(self, states: str, longer: str, *pattern: str) -> str:
        assert self.coordinator is not None
        chosen = TransactionFilter(
            states=frozenset() if states == "any" else frozenset(states.split(",")),
            longer_than_ms=int(longer),
            pattern=pattern[0] if pattern else None,
        )
        found = self.coordinator.states.list(chosen)
        rows = sorted(f"{name}:{producer}:{state}" for name, producer, state in found.transactions)
        unknown = ", ".join(found.unknown_states)
        return f"{found.error.name} [{', '.join(rows)}] [{unknown}]"

    def _state(self) -> list[str]:
        lines = []
        if self.coordinator is not None:
            for number, (epoch, states) in self.coordinator.states.owned.items():
                lines += [f"~ {m.transactional_id} {number}/{epoch} {_show(m)}" for m in states]
        lines.sort()
        for where, log in sorted((str(where), log) for where, log in self.manager.logs.items()):
            data = Path(log.active_segment.log.path).read_bytes()
            new = data[self.shown.get(where, 0) :]
            if new:
                lines.append(f"+ {where} {new.hex()}")
            self.shown[where] = len(data)
        return lines


def _show(m: TransactionMetadata) -> str:
    pending = "-" if m.pending_state is None else str(m.pending_state)
    return " ".join(
        map(
            str,
            (
                m.state, pending, m.producer_id, m.previous_producer_id, m.next_producer_id,
                m.producer_epoch, m.last_producer_epoch, m.timeout_ms, m.start_timestamp,
                m.last_update_timestamp, int(m.client_transaction_version),
                str(m.has_failed_epoch_fence).lower(), ",".join(sorted(map(str, m.partitions))),
            ),
        )
    )  # fmt: skip
