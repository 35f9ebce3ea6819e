"""Hold what the first minutes after a start take: of logs by the first passes, and of groups.

Kafka: LogManager.cleanupLogs, LogCleaner.cleanFilthiestLog,
GroupCoordinatorShard.cleanupGroupMetadata (4.2)
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final, Literal, NamedTuple

from workbench.config.broker_rules import TopicsFrom
from workbench.config.changed_defaults import has_config
from workbench.config.internal_topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from workbench.foresight.preflight.concern import Concern
from workbench.foresight.startup.prediction import StartupPrediction
from workbench.inspection.broker_version import MeantBroker
from workbench.layout.integers import INT64_MAX
from workbench.runtime.times import time_text
from workbench.runtime.words import named_or_more, plural, size_text

_LIMITS: Final = ("retention.bytes", "retention.ms")

Pass = Literal["retention", "local retention", "compaction"]


class LogPass(NamedTuple):
    """What the first pass of retention or of the cleaner takes of a log.

    Attributes:
        topic, partition: the log's.
        what: "retention"; "local retention": only local copies of segments that the remote tier
            has; "compaction".
        records: that are gone then; 0: only the log start offset moves.
        size: bytes that are gone then.
        log_start_offset: the log start offset then.
        at: ms; when the pass begins.
        rule: the configuration that decides: `retention.ms`.
        source: where its value is from, as `config.settings` names it.
        is_own: whether the topic has the value itself, so that no setting of a broker changes it.
        reason: why, with the numbers.
        is_cleaners: whether the cleaner does it: it also deletes segments of compacted logs.
    """

    topic: str
    partition: int
    what: Pass
    records: int
    size: int
    log_start_offset: int
    at: int
    rule: str
    source: str
    is_own: bool
    reason: str
    is_cleaners: bool = False


class GroupRestart(NamedTuple):
    """A partition in which a group does not go on where it stopped.

    Attributes:
        group: its id.
        topic, partition: the partition.
        offset: its committed offset; None: it has none.
        state: "beyond the end", "below the start", "expired", "not committed", "commit lost",
            "topic gone" or "recreated".
        reason: why, with the numbers.
        earliest, latest: where its consumer begins with `auto.offset.reset` of this name; None:
            the log is not served.
    """

    group: str
    topic: str
    partition: int
    offset: int | None
    state: str
    reason: str
    earliest: int | None = None
    latest: int | None = None

    @property
    def where(self) -> str:
        """Where its consumer begins, as a clause; empty if the log is not served."""
        if self.earliest is None:
            return ""
        return f"earliest begins at {self.earliest}, latest at {self.latest}"


class EndedTransaction(NamedTuple):
    """A transaction that the coordinator ends after the start: each partition gets a marker.

    Attributes:
        transactional_id: its id.
        partitions: names of those that wait for the marker.
        is_committed: whether it is committed, otherwise aborted.
        at: ms; when the coordinator ends it.
        reason: why.
    """

    transactional_id: str
    partitions: tuple[str, ...]
    is_committed: bool
    at: int
    reason: str


class TierLoss(NamedTuple):
    """What the remote tier loses of a partition with the first pass of remote retention.

    Attributes:
        topic, partition: the partition.
        segments: how many remote segments are deleted; 0: perhaps some, as the reason says.
        first_offset, last_offset: their offsets, both included.
        reason: why, as a clause.
        rule: the configuration that decides; empty if none does.
    """

    topic: str
    partition: int
    segments: int
    first_offset: int
    last_offset: int
    reason: str
    rule: str = ""


class FirstMinutes(NamedTuple):
    """What happens in the first minutes after a start.

    Attributes:
        passes: by topic, partition and pass.
        restarts: by group, topic and partition.
        transactions: that the coordinator ends, by transactional id.
        tiers: what the remote tier loses, by topic and partition.
        without_tier: topics with a remote tier, of a broker that was said to have none.
        assumed_tier: topics with a remote tier, which the broker is assumed to have.
        cleaner_end: where the cleaner ends, as what it does: "ends at …"; empty if it does not.
        expires_at: ms; when the clean-up of committed offsets runs first.
        assumed: topics whose configuration is in no file here: Kafka's defaults are assumed.
    """

    passes: tuple[LogPass, ...] = ()
    restarts: tuple[GroupRestart, ...] = ()
    transactions: tuple[EndedTransaction, ...] = ()
    expires_at: int = 0
    assumed: frozenset[str] = frozenset()
    tiers: tuple[TierLoss, ...] = ()
    cleaner_end: str = ""
    without_tier: tuple[str, ...] = ()
    assumed_tier: tuple[str, ...] = ()


def concerns_of_first_minutes(found: FirstMinutes, broker: MeantBroker) -> Iterator[Concern]:
    """Yield what to know about the first minutes, with what prevents each loss."""
    deleted = [each for each in found.passes if each.what == "retention" and each.records]
    if deleted:
        yield _retention(deleted, found, broker)
    local = [each for each in found.passes if each.what == "local retention"]
    if local:
        sizes = {each.topic: 0 for each in local}
        for each in local:
            sizes[each.topic] += each.size
        rows = [f"{topic} ({size_text(size)})" for topic, size in sorted(sizes.items())]
        what = (
            f"local retention deletes {size_text(sum(sizes.values()))} of what the remote tier has "
            f"too: {named_or_more(rows)}; consumers read it from there"
        )
        yield Concern("local-retention", "info", what)
    yield from _of_missing_tier(found)
    retained = [_tier_loss(each) for each in found.tiers if each.rule]
    if retained:
        what = (
            "remote retention, if the broker leads them, deletes from the remote tier segments of "
            f"{named_or_more(retained)}; no consumer gets their records then"
        )
        action = "To keep what retention deletes from the remote tier, copy it before the start"
        yield Concern("tier-retention", "warning", what, action)
    lost = [_tier_loss(each) for each in found.tiers if not each.rule]
    if lost:
        what = (
            f"the broker, if it leads them, deletes from the remote tier what it has of "
            f"{named_or_more(lost)}: their leader epochs are older than any that the logs know"
        )
        action = (
            "Copy the remote tier first, and do not start before these logs are back with their "
            "leader-epoch-checkpoint, from a backup or another replica"
        )
        yield Concern("tier-lost", "warning", what, action)
    compacted = [each for each in found.passes if each.what == "compaction"]
    if compacted:
        what = (
            f"the cleaner begins with the start, and its first round drops {_amount(compacted)}: "
            f"{_by_topic(compacted)}"
        )
        action = "To keep what the cleaner drops, start with log.cleaner.enable=false"
        yield Concern("first-compaction", "info", what, action)
    if found.cleaner_end:
        what = f"the cleaner {found.cleaner_end}"
        action = (
            "Take cleanup.policy=compact from the topic of this log, and start the broker again; "
            "with Kafka 2.1 or later one log does not end the cleaner"
        )
        yield Concern("cleaner-ends", "warning", what, action)
    if found.transactions:
        texts = [
            f"{each.transactional_id} is {'committed' if each.is_committed else 'aborted'} at "
            f"{time_text(each.at)} in {named_or_more(each.partitions)}: {each.reason}"
            for each in found.transactions
        ]
        what = (
            f"the coordinator ends {plural(len(found.transactions), 'transaction')}: "
            f"{named_or_more(texts, '; ')}. Each of these logs gets a marker, and the cleaner may "
            "go on after it"
        )
        yield Concern("transactions", "info", what)
    yield from _groups(found)


def _of_missing_tier(found: FirstMinutes) -> Iterator[Concern]:
    """Yield what a broker without the remote tier of its topics does.

    It starts: 4.2 logs that their configuration cannot be updated, and keeps the one it has loaded.
    """
    without = (
        "consumers get nothing that only the tier has, and retention.ms and retention.bytes "
        "delete the segments on the disk"
    )
    if found.without_tier:
        what = (
            "remote.log.storage.system.enable is false, and topics have a remote tier "
            f"({named_or_more(found.without_tier)}): {without}"
        )
        action = (
            "To keep the remote tier in use, start with remote.log.storage.system.enable=true and "
            "the tier's plugin in server.properties"
        )
        yield Concern("tier-off", "warning", what, action)
    if found.assumed_tier:
        topics = named_or_more(found.assumed_tier)
        what = (
            f"the broker is assumed to have the remote tier of {topics}. "
            "Without remote.log.storage.system.enable=true and the tier's plugin in "
            f"server.properties, {without}; --set remote.log.storage.system.enable=false shows it"
        )
        yield Concern("tier-assumed", "info", what)


def _tier_loss(each: TierLoss) -> str:
    which = f"offsets {each.first_offset} to {each.last_offset}"
    count = f"{plural(each.segments, 'segment')}, {which}: " if each.segments else ""
    return f"{each.topic}-{each.partition} ({count}{each.reason})"


def _retention(deleted: list[LogPass], found: FirstMinutes, broker: MeantBroker) -> Concern:
    at = time_text(min(each.at for each in deleted))
    what = f"the first check of retention, at {at}, deletes {_amount(deleted)}: "
    what += f"{_by_topic(deleted)}. {_sentence(deleted[0])}"
    topics = {each.topic for each in deleted if not each.is_own}
    assumed = sorted(topics & found.assumed)
    if assumed:
        what += (
            f". The configuration of {named_or_more(assumed)} is in no file here: Kafka's default "
            "is assumed; give --set TOPIC:NAME=VALUE"
        )
    return Concern("first-retention", "warning", what, _prevention(deleted, broker))


def _sentence(each: LogPass) -> str:
    return f"{each.topic}-{each.partition}: {each.reason} ({each.rule}: {each.source})"


def _prevention(deleted: list[LogPass], broker: MeantBroker) -> str:
    """Return the setting or command that keeps what retention would delete.

    What one rule deletes, the other would perhaps delete without it: both get no limit.
    """
    own = sorted({each.topic for each in deleted if each.is_own})
    steps = []
    if not all(each.is_own for each in deleted):
        settings = " and ".join(
            f"log.{name}=-1" if _knows_unlimited(name, broker) else "log.retention.hours=2147483647"
            for name in _LIMITS
        )
        steps.append(f"start with {settings} in server.properties")
    if own:
        has_zookeeper = broker.rules.topics_from is TopicsFrom.ZOOKEEPER
        alter = _alteration(own[0], broker)
        alter += f" (also for {named_or_more(own[1:])})" if own[1:] else ""
        if has_zookeeper:
            steps.append(f"run {alter} before the start")
        else:
            waits = _waits([each for each in deleted if each.is_own], broker)
            steps.append(f"{waits}run {alter}")
    topic = deleted[0].topic
    save = f"or save the records first: kafka-workbench export DIR {topic}.parquet -t {topic}"
    return f"To keep what retention would delete, {'; '.join(steps)}; {save}"


def _waits(deleted: list[LogPass], broker: MeantBroker) -> str:
    """Return how to start so that retention waits for a command, as the begin of a sentence."""
    cleaners = sorted({each.topic for each in deleted if each.is_cleaners})
    is_all = all(each.is_cleaners for each in deleted)
    has_delay = has_config("log.initial.task.delay.ms", broker.version)
    settings, effects = [], []
    if has_delay and not is_all:
        settings.append("log.initial.task.delay.ms=86400000")
        effects.append("puts the first check off by a day")
    if cleaners:
        settings.append("log.cleaner.enable=false")
        effects.append(f"keeps the cleaner from deleting segments of {named_or_more(cleaners)}")
    when = "" if has_delay or is_all else "in the first 30 seconds after the start, "
    if not settings:
        return when
    joined = " and ".join(settings)
    return (
        f"start with {joined} in server.properties, which {' and '.join(effects)}, and then {when}"
    )


def _knows_unlimited(rule: str, broker: MeantBroker) -> bool:
    """Whether -1 sets no limit in a rule."""
    return not rule.endswith(".ms") or broker.rules.knows_unlimited_age


def _alteration(topic: str, broker: MeantBroker) -> str:
    """Return the command that lets retention of a topic delete nothing."""
    given = [f"{each}={-1 if _knows_unlimited(each, broker) else INT64_MAX}" for each in _LIMITS]
    if not broker.rules.knows_unlimited_age:  # nor has 0.8.2 the newer tool
        values = " ".join(f"--config {each}" for each in given)
        return f"kafka-topics.sh --zookeeper HOST:PORT --alter --topic {topic} {values}"
    has_zookeeper = broker.rules.topics_from is TopicsFrom.ZOOKEEPER
    where = "--zookeeper" if has_zookeeper else "--bootstrap-server"
    return (
        f"kafka-configs.sh {where} HOST:PORT --alter --entity-type topics "
        f"--entity-name {topic} --add-config {','.join(given)}"
    )


def _amount(passes: Iterable[LogPass]) -> str:
    rows = list(passes)
    records = sum(each.records for each in rows)
    return f"{plural(records, 'record')} ({size_text(sum(each.size for each in rows))})"


def _by_topic(passes: Iterable[LogPass]) -> str:
    found: dict[str, int] = {}
    for each in passes:
        found[each.topic] = found.get(each.topic, 0) + each.records
    rows = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return named_or_more([f"{topic} ({count:,})" for topic, count in rows])


class _Coordinator(NamedTuple):
    """The log of a coordinator's state.

    Attributes:
        topic: its topic.
        kind: the kind of the concern.
        emptied, shortened: what follows if the log is made empty, or ends earlier.
        action: the step to take.
    """

    topic: str
    kind: str
    emptied: str
    shortened: str
    action: str


_COORDINATORS: Final = (
    _Coordinator(
        topic=OFFSETS_TOPIC,
        kind="commits-lost",
        emptied="every group whose offsets were there has none, and auto.offset.reset decides "
        "where its consumers begin",
        shortened="a group whose last commits are missing goes on at an earlier commit, or has "
        "none",
        action="Before the consumers start, compare the offsets that are left with those you "
        "expect (kafka-consumer-groups.sh --describe --all-groups), and set them with "
        "--reset-offsets",
    ),
    _Coordinator(
        topic=TRANSACTIONS_TOPIC,
        kind="transactions-lost",
        emptied="the coordinator forgets the transactions that were there, and ends none that is "
        "open: read_committed consumers and the cleaner stop at its first record, for ever",
        shortened="the coordinator forgets the last changes of transactions, and may not end one "
        "that is open",
        action="After the start, look for transactions that hang (kafka-transactions.sh "
        "find-hanging), and end them with kafka-transactions.sh abort",
    ),
    _Coordinator(
        topic=SHARE_STATE_TOPIC,
        kind="share-state-lost",
        emptied="share groups whose state was there have no start offset, and their consumers get "
        "no record",
        shortened="share groups whose last state is missing deliver records again",
        action="After the start, compare with kafka-share-groups.sh --describe --offsets, and set "
        "what is missing with --reset-offsets",
    ),
)


def concerns_of_coordinators(
    prediction: StartupPrediction, missing: Collection[str] = ()
) -> Iterator[Concern]:
    """Yield which logs of committed offsets and of transactions the start shortens, or makes empty.

    Which groups and transactions were in them is in no file then.

    Args:
        prediction: of the start.
        missing: names of the logs whose end is missing already.
    """
    if not prediction.starts:
        return
    for each in _COORDINATORS:
        metadata = prediction.metadata
        made = [] if metadata is None else [*metadata.created]
        made += [row.name for row in prediction if row.is_emptied]
        empty = [name for name in made if name.startswith(f"{each.topic}-")]
        shorter = [
            row.name
            for row in prediction
            if (row.bytes_cut or row.name in missing) and row.name.startswith(f"{each.topic}-")
        ]
        texts = []
        if empty:
            verb = "are" if len(empty) > 1 else "is"
            texts.append(f"{named_or_more(empty)} {verb} made empty: {each.emptied}")
        if shorter:
            verb = "end" if len(shorter) > 1 else "ends"
            texts.append(f"{named_or_more(shorter)} {verb} earlier: {each.shortened}")
        if texts:
            yield Concern(each.kind, "warning", "; ".join(texts), each.action)


def _groups(found: FirstMinutes) -> Iterator[Concern]:
    by_group: dict[str, list[GroupRestart]] = {}
    for each in found.restarts:
        by_group.setdefault(each.group, []).append(each)
    if not by_group:
        return
    texts = []
    for group, rows in sorted(by_group.items()):
        first = rows[0]
        more = f" and {len(rows) - 1} more" if rows[1:] else ""
        why = f"{first.reason}; {first.where}" if first.where else first.reason
        texts.append(f"{group} in {first.topic}-{first.partition}{more}: {why}")
    count = plural(len(by_group), "group")
    what = f"{count} do not go on where they stopped" if len(by_group) > 1 else ""
    what = what or "1 group does not go on where it stopped"
    what += f", auto.offset.reset decides: {named_or_more(texts, '; ')}"
    has_expired = any(each.state == "expired" for each in found.restarts)
    if has_expired:
        at = time_text(found.expires_at)
        what += (
            f". Offsets that have expired are there until the first clean-up of offsets, at {at}"
        )
    group = next(iter(sorted(by_group)))
    action = (
        f"See kafka-workbench group {group} DIR; before its consumers start, set its offsets with "
        "kafka-consumer-groups.sh --reset-offsets"
    )
    if has_expired:
        action += (
            ". A larger offsets.retention.minutes in server.properties, before the start, keeps "
            "offsets that have expired"
        )
    yield Concern("groups", "warning", what, action)
