"""Findings about the replicas of a partition: lag, divergence, loss, traces of unclean elections.

Kafka: KIP-101, KIP-279, KIP-966
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from workbench.comparison.pairs import PairComparison
from workbench.comparison.replica import Replica, epoch_problems
from workbench.comparison.results import PartitionComparison
from workbench.config.internal_topics import METADATA_TOPIC
from workbench.files import names
from workbench.inspection.findings import SEVERITIES, Finding, Severity
from workbench.runtime.words import plural

_NO_EPOCHS: Final = "no epoch"


def findings_of(
    compared: PartitionComparison,
    pairs: Mapping[frozenset[str], PairComparison],
    ids: Mapping[int, str],
) -> tuple[Finding, ...]:
    """Return the findings about a partition, worst first.

    Args:
        compared: the comparison, without findings.
        pairs: names of two brokers → their comparison.
        ids: id of a broker in the cluster's metadata → its name.
    """
    ahead = compared.replica(compared.ahead)
    found = [*_topic_ids(compared.replicas)]
    for replica in compared.replicas:
        found += replica.damage
        if replica.damage_count > len(replica.damage):
            found.append(_more_damage(replica))
        found += epoch_problems(replica)
        found += _high_watermark(compared, replica)
        if replica is not ahead:
            pair = pairs[frozenset((replica.broker, ahead.broker))]
            found += _against_ahead(compared, replica, ahead, pair)
            found += _unclean(replica, ahead, pair)
    found += _others(compared, pairs)
    found += _truncations(compared, pairs)
    found += _lost(compared)
    found += _registered(compared, ids)
    return tuple(sorted(found, key=lambda each: -SEVERITIES.index(each.severity)))


def _topic_ids(replicas: Sequence[Replica]) -> Iterator[Finding]:
    known = [each for each in replicas if each.topic_id is not None]
    for replica in known[1:]:
        if replica.topic_id != known[0].topic_id:
            yield Finding(
                "topic-id", "error", replica.path, None, None, f"topic id {replica.topic_id}",
                f"{known[0].topic_id}, as on broker {known[0].broker}",
                "These are logs of two topics of one name: the older was deleted and created "
                "again. The broker with the wrong id sets its directory aside as stray.",
            )  # fmt: skip


def _more_damage(replica: Replica) -> Finding:
    more = replica.damage_count - len(replica.damage)
    found = f"{more} more problems of this kind or others"
    return Finding("crc", "error", replica.path, None, None, found, "", "")


def _high_watermark(compared: PartitionComparison, replica: Replica) -> Iterator[Finding]:
    high, end = replica.high_watermark, replica.log_end_offset
    if high is None:
        if (
            replica.has_high_watermarks
            and compared.topic != METADATA_TOPIC
            and len(compared.replicas) > 1
        ):
            yield Finding(
                "not-checkpointed", "info", replica.path, None, None,
                f"no entry in {names.HIGH_WATERMARKS}", "the high watermark of the log",
                "The broker starts with high watermark 0, and moves it up as leader or follower.",
            )  # fmt: skip
        return
    if high > end:
        has_them = [
            each.broker
            for each in compared.replicas
            if each.log_end_offset >= high and each is not replica
        ]
        missing = plural(high - end, "committed record")
        where = f"broker {has_them[0]} has them" if has_them else "no other replica has them all"
        severity: Severity = "warning" if has_them else "error"
        yield Finding(
            "checkpoint-beyond-end", severity, replica.path, None, end,
            f"broker {replica.broker} has lost {missing} at its end (high watermark {high}, log "
            f"end offset {end}); {where}",
            f"a log end offset of at least {high}",
            "The broker lowers the high watermark. If it is elected, the records are lost on "
            "every replica.",
        )  # fmt: skip


def _against_ahead(
    compared: PartitionComparison, replica: Replica, ahead: Replica, pair: PairComparison
) -> Iterator[Finding]:
    me, other = replica.broker, ahead.broker
    end = replica.log_end_offset
    truncation = compared.truncation(me, other)
    if pair.different_offset is not None:
        yield _divergence(
            replica, ahead, pair, str(_follows(me, other, truncation.removes, truncation.offset))
        )
    elif end < ahead.log_end_offset:
        lag = ahead.log_end_offset - end
        text = f"{_follows(me, other, truncation.removes, truncation.offset)} Then it fetches "
        text += f"{plural(lag, 'offset')}."
        lost = compared.leaderships[me].lost
        if lost is not None:
            text += f" As leader, it would lose committed offsets {lost[0]} to {lost[1] - 1}."
        yield Finding(
            "replica-lag", "warning", replica.path, None, end,
            f"broker {me} lags by {plural(lag, 'offset')}: log end offset {end}",
            f"{ahead.log_end_offset}, as on broker {other}", text,
        )  # fmt: skip
    only = pair.only_left + pair.only_right
    if only and compared.is_compacted:
        yield Finding(
            "compacted-apart", "info", replica.path, None, None,
            f"{plural(only, 'record')} only on one of brokers {me} and {other}", "",
            "Each replica compacts by itself, so they may keep different old records.",
        )  # fmt: skip


def _follows(me: str, other: str, removes: int, offset: int) -> str:
    if not removes:
        return f"As a follower of broker {other}, broker {me} truncates nothing."
    return (
        f"As a follower of broker {other}, broker {me} truncates to {offset}: "
        f"{plural(removes, 'offset')} removed."
    )


def _divergence(one: Replica, other: Replica, pair: PairComparison, broker: str) -> Finding:
    offset = pair.different_offset
    assert offset is not None
    return Finding(
        "replica-divergence", "error", one.path, None, offset,
        f"brokers {one.broker} and {other.broker} hold different records from offset {offset}: "
        f"{_epoch_at(one, offset)} and {_epoch_at(other, offset)}",
        "the same records on both", broker,
    )  # fmt: skip


def _epoch_at(replica: Replica, offset: int) -> str:
    below = [entry.epoch for entry in replica.batch_epochs if entry.start_offset <= offset]
    return f"epoch {below[-1]}" if below else _NO_EPOCHS


def _others(
    compared: PartitionComparison, pairs: Mapping[frozenset[str], PairComparison]
) -> Iterator[Finding]:
    """Yield gaps, and divergences of two replicas none of which is ahead."""
    for names_of, pair in pairs.items():
        one, other = compared.replica(pair.left), compared.replica(pair.right)
        if pair.gap_offset is not None:
            count = plural(pair.only_left + pair.only_right, "record")
            yield Finding(
                "replica-gap", "error", one.path, None, pair.gap_offset,
                f"{count}, the first at offset {pair.gap_offset}, only on one of brokers "
                f"{one.broker} and {other.broker}",
                "the same records on both: nothing says that the topic is compacted",
                "A follower does not fetch what is missing below its log end offset.",
            )  # fmt: skip
        if compared.ahead not in names_of and pair.different_offset is not None:
            yield _divergence(
                one, other, pair, f"Both truncate as followers of broker {compared.ahead}."
            )


def _truncations(
    compared: PartitionComparison, pairs: Mapping[frozenset[str], PairComparison]
) -> Iterator[Finding]:
    """Yield where a follower keeps records that the leader does not have, or drops those it has."""
    for names_of, pair in pairs.items():
        offset = pair.different_offset
        for leader in sorted(names_of):
            (me,) = names_of - {leader}
            replica, truncation = compared.replica(me), compared.truncation(me, leader)
            after = truncation.after
            if after.log_end_offset < min(pair.common_end, truncation.before.log_end_offset):
                yield Finding(
                    "needless-truncation", "warning", replica.path, None, after.log_end_offset,
                    f"as a follower of broker {leader}, broker {me} truncates to "
                    f"{after.log_end_offset}, though both hold the same up to {pair.common_end}",
                    "leader epoch files that agree with the batches",
                    "The follower fetches the records again. If the leader is lost before that, so "
                    "are they.",
                )  # fmt: skip
            if offset is None:
                continue
            if after.log_start_offset <= offset < after.log_end_offset:
                yield Finding(
                    "silent-divergence", "error", replica.path, None, offset,
                    f"as a follower of broker {leader}, broker {me} keeps its own record at offset "
                    f"{offset}: the leader epochs do not show the difference",
                    "a log that is the beginning of the leader's after truncation",
                    "Consumers get other records from each of the two. To repair it, delete the "
                    "wrong replica's directory while its broker is stopped.",
                )  # fmt: skip


def _unclean(replica: Replica, ahead: Replica, pair: PairComparison) -> Iterator[Finding]:
    """Yield where an epoch began below a high watermark: no clean election does that."""
    if pair.different_offset is None:
        return
    for one, other in ((replica, ahead), (ahead, replica)):
        high = one.high_watermark or 0
        for epoch, start in other.batch_epochs:
            own = [each.epoch for each in one.batch_epochs if each.start_offset <= start]
            if pair.different_offset <= start < high and own and own[-1] < epoch:
                yield Finding(
                    "unclean-election", "warning", other.path, None, start,
                    f"epoch {epoch} of broker {other.broker} begins at offset {start}, below the "
                    f"high watermark {high} of broker {one.broker}",
                    "epochs that begin at or above every high watermark",
                    "An unclean election, or a leader that lost the end of its log in a crash: the "
                    "logs alone do not show which.",
                )  # fmt: skip
                break


def _lost(compared: PartitionComparison) -> Iterator[Finding]:
    for lost in compared.committed.lost:
        replica = compared.replica(lost.broker)
        count = plural(lost.end - lost.start, "committed offset")
        where = (
            f"broker {compared.ahead}, which is ahead, does not have them; broker {lost.broker} "
            "still does"
            if lost.is_on_disk
            else "no replica has them"
        )
        keeps = f"To keep them, copy the directory of broker {lost.broker} before it starts."
        yield Finding(
            "committed-lost", "error", replica.path, None, lost.start,
            f"{count} from {lost.start} to {lost.end - 1}: {where}", "on every in-sync replica",
            keeps if lost.is_on_disk else "Consumers may have read them; they are gone.",
        )  # fmt: skip


def _registered(compared: PartitionComparison, ids: Mapping[int, str]) -> Iterator[Finding]:
    """Yield what the cluster's metadata add: the leader, replicas out of sync."""
    known = compared.registration
    if known is None:
        return
    by_name = {each.broker: each for each in compared.replicas}
    first = compared.replicas[0].path
    if known.is_recovering or known.unclean_leaders:
        yield Finding(
            "unclean-election", "warning", first, None, None,
            "by the cluster's metadata, a leader was elected that was not in sync",
            "leaders out of the in-sync replicas",
            "Records that only the leader before had are lost.",
        )  # fmt: skip
    leader = by_name.get(ids.get(known.leader, ""))
    for each in known.isr:
        member = by_name.get(ids.get(each, ""))
        high = 0 if member is None else member.high_watermark or 0
        if leader is not None and member is not None and leader.log_end_offset < high:
            yield Finding(
                "leader-behind", "error", leader.path, None, leader.log_end_offset,
                f"leader {leader.broker} ends at {leader.log_end_offset}, below the high watermark "
                f"{high} of broker {member.broker}, which is in sync", f"at least {high}",
                "The leader has lost committed records, and its followers will truncate them.",
            )  # fmt: skip
    for each in known.replicas:
        name = ids.get(each)
        member = by_name.get(name or "")
        if name is not None and member is None:
            yield Finding(
                "replica-missing", "warning", first, None, None,
                f"broker {name} has no log of {compared.name}", "one: it is assigned to the broker",
                "The broker creates an empty log when it starts, and fetches everything.",
            )  # fmt: skip
        elif each not in known.isr and member is not None and known.isr:
            yield Finding(
                "out-of-sync", "info", member.path, None, None,
                f"broker {member.broker} is not in sync by the cluster's metadata", "",
                "A clean election does not choose it.",
            )  # fmt: skip
    assigned = {ids.get(each) for each in known.replicas}
    for member in compared.replicas:
        if member.broker not in assigned and member.broker in ids.values():
            yield Finding(
                "replica-unassigned", "warning", member.path, None, None,
                f"{compared.name} is not assigned to broker {member.broker}",
                f"a log on brokers {', '.join(map(str, known.replicas))} only",
                "A broker of KRaft sets the directory aside as stray; an older one keeps it, and "
                "serves its old records if the partition is assigned to it again.",
            )  # fmt: skip
