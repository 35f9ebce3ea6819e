"""Why a transaction is open, what it blocks, and what ends it: one row per rule and partition.

A transaction hangs if no transactional id waits for it: no transaction marker will ever end it.
`find-hanging` of Kafka's tool asks the same, of transactions that are older than 15 minutes.

Kafka: TransactionStateManager, TransactionCoordinator, TransactionsCommand (4.2)
"""

import shlex
from collections.abc import Iterator
from typing import Final

from workbench.config.broker_config import BrokerConfig
from workbench.config.internal_topics import TRANSACTIONS_TOPIC
from workbench.coordinator.groups.group_load import GROUPS_TOPIC, load_group_partition
from workbench.coordinator.runtime.era import era_of_cluster
from workbench.coordinator.runtime.partitioning import place_row
from workbench.coordinator.transactions.states import MARKERS
from workbench.coordinator.transactions.stored_transactions import (
    HANGS,
    OpenProducer,
    StoredTransactions,
)
from workbench.coordinator.transactions.transaction_metadata import TransactionMetadata
from workbench.files.names import TopicPartition
from workbench.foresight.explain.rule_verdict import rule_row
from workbench.runtime.times import ms_text, time_text
from workbench.runtime.words import did_you_mean, first_few, plural
from workbench.tables.foresight import RuleRow, Word

_LOAD: Final = "TransactionStateManager.loadTransactionMetadata (4.2)"
_PLACE: Final = "TransactionStateManager.partitionFor (4.2)"
_TIMEOUT: Final = "TransactionStateManager.timedOutTransactions (4.2)"
_EXPIRY: Final = "TransactionStateManager.removeExpiredTransactionalIds (4.2)"
_MARKERS: Final = "TransactionMarkerChannelManager.addTxnMarkersToSend (4.2)"
_HANGING: Final = "TransactionsCommand.FindHangingTransactionsCommand (4.2)"
_STABLE: Final = "UnifiedLog.fetchLastStableOffsetMetadata (4.2)"
_PENDING: Final = "OffsetMetadataManager.replayEndTransactionMarker (4.2)"
_TOOL: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT"

_ABORT_INTERVAL: Final = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
_ID_EXPIRATION: Final = "transactional.id.expiration.ms"
_MAX_TIMEOUT: Final = "transaction.max.timeout.ms"


class TransactionExplainer:
    """Explains one transactional id, or one producer.

    Args:
        coordinator: the loaded transactional ids.
        transaction: a transactional id, or a producer id (as a number, or as text that is not a
            transactional id).
        now: ms, that ages are measured by; None: no age is judged.
        config: the broker's; None: Kafka's defaults. The rows say which of both is a value's
            source.

    Attributes:
        name: the given transactional id or producer id, as text.

    Raises:
        OSError: a file cannot be read.
    """

    def __init__(
        self,
        coordinator: StoredTransactions,
        transaction: str | int,
        now: int | None = None,
        config: BrokerConfig | None = None,
    ) -> None:
        self.name = str(transaction)
        self._coordinator = coordinator
        self._now = now
        self._config = BrokerConfig.of() if config is None else config
        ids = coordinator.transactions
        self._id = transaction if isinstance(transaction, str) else None
        producer: int | None = None
        if self._id is None or (self._id not in ids and self._id.isdecimal()):
            producer = int(transaction)
            self._id = next((name for name, s in ids.items() if s.producer_id == producer), None)
        self._state: TransactionMetadata | None = None if self._id is None else ids.get(self._id)
        if producer is None and self._state is not None:
            producer = self._state.producer_id
        self._producer = producer
        every = coordinator.open_producers()
        self._first = {each.where: each for each in every if each.blocked}
        self._open = [each for each in every if each.transaction.producer_id == producer]

    @property
    def state(self) -> TransactionMetadata | None:
        """The state of the transactional id; None: no record mentions it."""
        return self._state

    @property
    def open(self) -> list[OpenProducer]:
        """The transactions of the producer that are open in logs."""
        return self._open

    @property
    def is_known(self) -> bool:
        """Whether a record mentions the transactional id, or a log the producer."""
        return self._state is not None or bool(self._open)

    @property
    def hangs(self) -> bool:
        """Whether a transaction is open that no transaction marker will end."""
        return any(each.verdict == HANGS for each in self._open)

    @property
    def conclusion(self) -> str:
        """One sentence."""
        state = self._state
        hanging = [str(each.where) for each in self._open if each.verdict == HANGS]
        if hanging:
            where = first_few(hanging, _SHOWN)
            return f"hangs in {where}: no transaction marker will end it, only an administrator"
        if state is None and self._open:
            where = first_few([str(each.where) for each in self._open], _SHOWN)
            return f"is open in {where}; whether it hangs is unknown: {self._open[0].reason}"
        if state is None:
            return "no record and no open transaction in these directories mentions it"
        if state.state == "Ongoing":
            since = time_text(state.start_timestamp)
            end = time_text(state.times_out_at or -1)
            return f"is open since {since}; unless it ends, the coordinator aborts it at {end}"
        if state.state in MARKERS:
            return (
                f"is prepared ({state.state}): the coordinator writes the {MARKERS[state.state]} "
                "markers as soon as it runs"
            )
        return f"nothing is open: the state is {state.state}"

    def verdicts(self) -> Iterator[RuleRow]:
        """Yield the rows: of the transactional id, then of each partition."""
        if self._id is not None:
            yield self._place(self._id)
        yield from self._loads()
        yield self._state_row()
        yield from self._ends()
        for where in self._partitions:
            opened = next((each for each in self._open if each.where == where), None)
            yield self._marker(where, opened)
            if opened is not None:
                yield self._stable(opened)
                yield from self._pending(opened)
                yield self._hanging(opened)
        yield self._cure()

    @property
    def _partitions(self) -> list[TopicPartition]:
        """The partitions that the id lists, or that have an open transaction of the producer."""
        state = self._state
        listed = sorted(state.partitions) if state is not None and state.phase in _OPEN else ()
        return sorted({*listed, *(each.where for each in self._open)})

    def _place(self, name: str) -> RuleRow:
        state, here = self._state, {load.partition.name for load in self._coordinator.loads}
        found = [] if state is None else [f"{TRANSACTIONS_TOPIC}-{state.log_partition}"]
        count = self._coordinator.partition_count
        return place_row(TRANSACTIONS_TOPIC, name, count, here, found, _PLACE)

    def _loads(self) -> Iterator[RuleRow]:
        for load in self._coordinator.loads:
            if load.failure is not None:
                reason = (
                    f"a broker's load of {load.partition.name} ends at {load.failure}: it does not "
                    "know later states"
                )
                yield rule_row("load", "limits", load.failure, None, reason, _LOAD)

    def _state_row(self) -> RuleRow:
        state = self._state
        if state is None and self._coordinator.is_complete:
            reason = "no transactional id has it: its record expired, or a tombstone removed it"
            if self._producer is not None:
                reason = f"no transactional id has producer {self._producer}"
            else:
                reason += did_you_mean(self.name, self._coordinator.transactions)
            return rule_row("state", "limits", None, None, reason, _LOAD)
        if state is None:
            reason = f"not every partition of {TRANSACTIONS_TOPIC} is in these directories"
            return rule_row("state", "unknown", None, None, reason, _LOAD)
        reason = (
            f"{state.transactional_id!r} is {state.state} since "
            f"{time_text(state.last_update_timestamp)}, producer {state.producer_id} epoch "
            f"{state.producer_epoch}, record {state.record_offset} of "
            f"{TRANSACTIONS_TOPIC}-{state.log_partition}"
        )
        verdict: Word = "limits" if state.phase in _OPEN else "allows"
        return rule_row("state", verdict, state.state, None, reason, _LOAD)

    def _ends(self) -> Iterator[RuleRow]:
        """Yield when the coordinator ends the transaction, or removes the transactional id."""
        state, now = self._state, self._now
        if state is None:
            return
        if state.state == "Ongoing":
            at, timeout = state.times_out_at, state.timeout_ms
            if at is None:
                reason = "no record says when the transaction began"
                yield rule_row("timeout", "unknown", timeout, None, reason, _TIMEOUT)
                return
            reason = (
                f"began at {time_text(state.start_timestamp)}, transaction.timeout.ms = "
                f"{ms_text(timeout)}: a coordinator aborts it after {time_text(at)}, within "
                f"{self._shown(_ABORT_INTERVAL)}"
            )
            if now is not None and at < now:
                reason += f"; a broker that runs at {time_text(now)} does"
            yield rule_row("timeout", "limits", at, now, reason, _TIMEOUT, due=at)
        elif state.state in MARKERS:
            reason = (
                f"decided at {time_text(state.last_update_timestamp)}: a coordinator that loads it "
                f"sends the {MARKERS[state.state]} markers to every listed partition again"
            )
            yield rule_row("markers", "limits", state.state, None, reason, _MARKERS)
        elif state.phase != "dead":
            at = state.expires_after(self._config.transactional_id_expiration_ms)
            over = at is not None and now is not None and at <= now
            reason = (
                f"the id expires at {time_text(-1 if at is None else at)}: "
                f"{self._shown(_ID_EXPIRATION)} after the last change"
            )
            due = None if over else at
            yield rule_row("expiry", "allows", at, now, reason, _EXPIRY, due=due)

    def _marker(self, where: TopicPartition, opened: OpenProducer | None) -> RuleRow:
        """Return whether the partition still waits for a transaction marker."""
        if opened is not None:
            each = opened.transaction
            reason = (
                f"producer {each.producer_id} has records from offset {each.first_offset} to "
                f"{each.last_offset}, and no transaction marker follows"
            )
            return rule_row(
                "marker",
                "limits",
                each.first_offset,
                each.last_offset,
                reason,
                _MARKERS,
                where=where,
            )
        if self._coordinator.logs.partition(where) is None:
            reason = self._coordinator.logs.absence(where)[1]
            return rule_row("marker", "unknown", None, None, reason, _MARKERS, where=where)
        state = self._state
        assert state is not None  # only what its record lists is here
        reason = "the log has no open transaction of the producer: "
        reason += (
            "no record was written, or its marker was"
            if state.state in MARKERS
            else ("the partition was added, and no record was written to it yet")
        )
        return rule_row("marker", "allows", None, None, reason, _MARKERS, where=where)

    def _stable(self, opened: OpenProducer) -> RuleRow:
        each, stable = opened.transaction, opened.last_stable_offset
        since = f"{time_text(each.first_timestamp)} (its first record's timestamp)"
        if self._state is not None and self._state.waits_for(opened.where):
            since = time_text(max(self._state.start_timestamp, 0) or each.first_timestamp)
        if not opened.blocked:
            first = self._first[opened.where].transaction
            reason = (
                f"the last stable offset is {stable}, held by an older transaction of producer "
                f"{first.producer_id}; this one would hold it at {each.first_offset}"
            )
            return rule_row(
                "last stable offset",
                "limits",
                stable,
                each.first_offset,
                reason,
                _STABLE,
                where=opened.where,
            )
        end = stable + opened.blocked
        blocked = plural(opened.blocked, "offset")
        reason = (
            f"since {since}, the last stable offset is {stable}: read_committed consumers and the "
            f"cleaner do not get past it, {blocked} below the log end offset {end}"
        )
        return rule_row(
            "last stable offset", "blocks", stable, end, reason, _STABLE, where=opened.where
        )

    def _pending(self, opened: OpenProducer) -> Iterator[RuleRow]:
        """Yield which commits of consumer groups wait for the transaction."""
        if opened.where.topic != GROUPS_TOPIC:
            return
        partition = self._coordinator.logs.partition(opened.where)
        assert partition is not None  # its log has the transaction
        load = load_group_partition(partition, era_of_cluster(self._coordinator.logs.cluster))
        waiting = load.table.pending.get(opened.transaction.producer_id, {})
        count = sum(len(offsets) for offsets in waiting.values())
        if count:
            waits = "waits" if count == 1 else "wait"
            topics = first_few(sorted(waiting), _SHOWN)
            reason = f"{plural(count, 'offset')} of {topics} {waits} for the marker"
            yield rule_row(
                "pending commits", "limits", count, None, reason, _PENDING, where=opened.where
            )

    def _hanging(self, opened: OpenProducer) -> RuleRow:
        last, limit = opened.transaction.last_timestamp, self._config.transaction_max_timeout_ms
        age = None if self._now is None or last < 0 else self._now - last
        reason = opened.reason
        if opened.verdict == HANGS:
            verdict: Word = "blocks"
            reason += ": no transaction marker will come"
        elif opened.verdict is None:
            verdict = "unknown"
        else:
            verdict = "allows"
            reason += ": its transaction marker will come"
        if age is not None and opened.verdict == HANGS:
            compared = "at or below" if age <= limit else "above"
            reason += (
                f"; its last record is {ms_text(age, ' ms')} old, {compared} "
                f"{self._shown(_MAX_TIMEOUT)}"
            )
        return rule_row("hanging", verdict, age, limit, reason, _HANGING, where=opened.where)

    def _shown(self, name: str) -> str:
        """Return a time of the broker's configuration, ms, with its name and where it is from."""
        value = getattr(self._config, name.replace(".", "_"))
        source = "the configured" if name in self._config.origins else "Kafka's default"
        return f"{source} {name} = {ms_text(value)}"

    def _cure(self) -> RuleRow:
        """Return the command that would end what is open."""
        state = self._state
        hanging = [each for each in self._open if each.verdict == HANGS]
        if hanging:
            return self._command("blocks", "; ".join(map(abort_command, hanging)))
        if state is not None and state.state == "Ongoing":
            name = shlex.quote(state.transactional_id)
            return self._command(
                "limits",
                f"{_TOOL} forceTerminateTransaction --transactionalId {name} (Kafka 4.2), or a "
                "producer with this transactional id that calls initTransactions()",
            )
        if state is not None and state.state in MARKERS:
            return self._command("limits", "nothing but a running coordinator of the partition")
        if self._open:
            return self._command(
                "unknown", f"first ask the cluster: {_TOOL} find-hanging --broker-id ID"
            )
        return self._command("allows", "nothing to end")

    def _command(self, verdict: Word, reason: str) -> RuleRow:
        return rule_row("what ends it", verdict, None, None, reason, _HANGING)


def abort_command(opened: OpenProducer) -> str:
    """Return the command that ends a hanging transaction."""
    where = opened.where
    return (
        f"{_TOOL} abort --topic {where.topic} --partition {where.partition} "
        f"--start-offset {opened.transaction.first_offset}"
    )


_OPEN: Final = frozenset({"open", "prepared"})


_SHOWN: Final = 3
