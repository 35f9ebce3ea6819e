"""What is said of log directories as a whole, in sections: for the report and for the overview.

A section composes what other commands say, and names the command that gives it. Values and keys of
records are not in it.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final

from workbench.inspection.findings import SEVERITIES
from workbench.loaders.answers.facts import Facts, LogVerdict
from workbench.loaders.answers.report_page import Badge, Bar, Cell, Row, Section, Target, Tile
from workbench.runtime.times import duration_text
from workbench.runtime.words import plural, size_text
from workbench.tables.stuck import StuckRow

MOST_ROWS: Final = 200
"""Of a table; a line says how many more there are."""
_SOUND: Final = (
    "Nothing was found in the names, sizes, headers and indexes of all files. Without --deep, CRCs "
    "and records were not checked; the command below checks them."
)
_LEADERLESS: Final = (
    "No partition has a leader, as a cluster leaves its metadata when its last node shuts down."
)
_MOST_NAMED: Final = 3  # topics
_BY_TIME: Final = (
    "select date_trunc('{unit}', max_timestamp) since, sum(size) bytes from batches group by all "
    "order by since desc"
)
BY_RETENTION: Final = "retention"
"""What the target of a log's row is about if retention alone shortens the log."""
_TONES: Final = {"error": "bad", "warning": "warn", "info": "calm"}
_VERDICTS: Final = {
    "served": "good", "damaged": "warn", "empty": "warn", "unknown": "warn", "deleted": "calm",
    "fine": "good", "falling behind": "warn", "stalled": "bad", "starts over": "bad",
}  # fmt: skip


def identity(facts: Facts, where: str) -> Section:
    """What this is: brokers, ids and shutdowns."""
    preflight = facts.preflight
    shown, meant = preflight.shown, preflight.broker
    notes = [f"The directories show Kafka {shown.version}: {shown.reason}."]
    if meant.version != shown.version:
        notes.append(f"A broker of Kafka {meant.version} is assumed: {meant.reason}.")
    rows: list[Row] = [
        [row.path, Badge(row.verdict, "good" if row.verdict == "online" else "bad"),
         row.cluster_id, row.node_id, row.directory_id,
         Badge("clean", "good") if row.had_clean_shutdown else Badge("unclean", "warn")]
        for row in preflight.directories
    ]  # fmt: skip
    headings = ["log directory", "start", "cluster id", "node", "directory id", "shutdown"]
    command = f"kafka-workbench preflight {where}"
    return Section("What this is", command, notes, headings, rows)


def start(facts: Facts, where: str) -> Section:
    """Whether the topics are served after a start."""
    preflight = facts.preflight
    ordered = sorted(preflight, key=lambda row: (row.verdict == "served", row.topic))[:MOST_ROWS]
    rows: list[Row] = [
        [row.topic, Badge(row.verdict, _VERDICTS.get(row.verdict, "bad")), row.partitions,
         size_text(row.size), size_text(row.recovery_bytes), size_text(row.bytes_cut), row.reason]
        for row in ordered
    ]  # fmt: skip
    concerns = [(Badge(each.severity, _TONES[each.severity]), each.what) for each in
                preflight.concerns]  # fmt: skip
    return Section(
        "Will the topics be served?", f"kafka-workbench preflight {where}",
        [f"{first_upper(str(preflight.recovery))}."],
        ["topic", "verdict", "partitions", "bytes", "recovery reads", "truncated", "why"],
        rows, left_out(len(preflight), "topic"), concerns, list(preflight.steps),
        [Target(topic=row.topic) for row in ordered],
    )  # fmt: skip


def findings(facts: Facts, where: str) -> Section:
    """What is damaged."""
    ordered = sorted(facts.findings, key=lambda each: -SEVERITIES.index(each.severity))
    rows: list[Row] = [
        [Badge(each.severity, _TONES[each.severity]), each.kind, each.path, each.position,
         each.offset, each.found, each.broker]
        for each in ordered[:MOST_ROWS]
    ]  # fmt: skip
    return Section(
        "What is damaged?", f"kafka-workbench verify {where}",
        [] if rows else [_SOUND],
        ["severity", "kind", "file", "byte", "offset", "found", "what a broker does"],
        rows, left_out(len(ordered), "finding"),
        targets=[Target(finding=each) for each in ordered[:MOST_ROWS]],
    )  # fmt: skip


def sizes(facts: Facts, where: str) -> Section:
    """What fills the disk."""
    total = sum(row.size for row in facts.sizes) or 1
    rows: list[Row] = [
        [row.topic, row.partitions, size_text(row.size), Bar(row.size / total),
         size_text(row.logs), size_text(row.others), size_text(row.leftovers)]
        for row in facts.sizes[:MOST_ROWS]
    ]  # fmt: skip
    return Section(
        "What fills the disk?", f"kafka-workbench ls {where} --topics --sort size", [],
        ["topic", "partitions", "bytes", "share", "segments", "indexes, snapshots",
         "deleted, stray, moving"],
        rows, left_out(len(facts.sizes), "topic"),
        targets=[Target(topic=row.topic) for row in facts.sizes[:MOST_ROWS]],
    )  # fmt: skip


def days(facts: Facts, where: str) -> Section:
    """When what fills the disk was written."""
    found = facts.written
    total = sum(span.size for span in found.spans) or 1
    newest = found.spans[::-1][:MOST_ROWS]
    rows: list[Row] = [
        [span.text or "no time", size_text(span.size), Bar(span.size / total), len(span.topics),
         _largest(span.topics)]
        for span in newest
    ]  # fmt: skip
    query = _BY_TIME.format(unit=found.unit)
    notes = [
        "By the largest timestamp of each batch, in UTC; indexes and other files are not in it."
    ]
    if found.unread:
        notes.append(f"{plural(found.unread, 'segment')} could not be read, and are left out.")
    return Section(
        "When was it written?", f'kafka-workbench sql {where} "{query}"', notes if rows else
        ["No log has a batch.", *notes[1:]],
        [found.unit, "bytes", "share", "topics", "largest"],
        rows, left_out(len(found.spans), found.unit),
        targets=[Target(times=None if span.start is None or span.end is None
                        else (span.start, span.end)) for span in newest],
    )  # fmt: skip


def _largest(topics: Mapping[str, int]) -> str:
    """Name the topics that have the most bytes."""
    told = [f"{topic} {size_text(size)}" for topic, size in islice(topics.items(), _MOST_NAMED)]
    more = len(topics) - len(told)
    return ", ".join(told) + (f" and {more:,} more" if more else "")


def logs(facts: Facts, where: str) -> Section:
    """What the cleaner and retention would do with each log now."""
    shown = facts.logs[:MOST_ROWS]
    rows: list[Row] = [
        [row.partition, size_text(row.size), row.policy, *_log_cells(row)] for row in shown
    ]
    return Section(
        "Is it cleaned and deleted as configured?", f"kafka-workbench explain {where}", [],
        ["partition", "bytes", "cleanup.policy", "cleaner", "retention", "why"],
        rows, left_out(len(facts.logs), "log"),
        targets=[Target(partition=row.partition, what=None if row.is_compacted else BY_RETENTION)
                 for row in shown],
    )  # fmt: skip


def _log_cells(row: LogVerdict) -> list[Cell]:
    if row.problem:
        return [Badge("not loaded", "bad"), None, row.problem]
    cleaner: Cell = None
    if row.is_compacted:
        cleaner = Badge("due", "good") if row.is_due else Badge("waits", "calm")
    deletes = f"deletes {size_text(row.deleted_bytes)}" if row.deletes else "keeps"
    why = row.cleaning if row.is_compacted else row.retention
    return [cleaner, Badge(deletes, "warn" if row.deletes else "calm"), first_upper(f"{why}.")]


def stuck(facts: Facts, where: str) -> Section:
    """What is stuck, and what holds it."""
    shown = facts.stuck[:MOST_ROWS]
    rows: list[Row] = [
        [f"{row.topic}-{row.partition}", Badge(row.what, "warn"), row.holder, row.offset,
         size_text(row.bytes), row.reason, row.action]
        for row in shown
    ]  # fmt: skip
    return Section(
        "What is stuck?", f"kafka-workbench stuck {where}",
        [] if rows else ["Everything is deleted, compacted, readable and consumed as configured."],
        ["partition", "what", "held by", "offset", "bytes behind", "why", "to do"],
        rows, left_out(len(facts.stuck), "row"),
        targets=[_of_stuck(row) for row in shown],
    )  # fmt: skip


def _of_stuck(row: StuckRow) -> Target:
    group = row.holder.removeprefix("group ") if row.holder.startswith("group ") else None
    return Target(partition=f"{row.topic}-{row.partition}", group=group, what=row.what)


def groups(facts: Facts, where: str) -> Section:
    """Groups by lag."""
    shown = facts.lags[:MOST_ROWS]
    rows: list[Row] = [
        [row.group, f"{row.topic}-{row.partition}",
         Badge(row.verdict, _VERDICTS.get(row.verdict, "calm")), row.lag,
         None if row.lag_ms is None else duration_text(row.lag_ms),
         None if row.lag_bytes is None else size_text(row.lag_bytes), row.reason]
        for row in shown
    ]  # fmt: skip
    return Section(
        "Groups by lag", f"kafka-workbench stuck {where}",
        [] if rows else ["No committed offset is in these directories."],
        ["group", "partition", "verdict", "lag", "time behind", "bytes behind", "why"],
        rows, left_out(len(facts.lags), "offset"),
        targets=[Target(partition=f"{row.topic}-{row.partition}", group=row.group)
                 for row in shown],
    )  # fmt: skip


def transactions(facts: Facts, where: str) -> Section:
    """Open transactions."""
    shown = facts.opened[:MOST_ROWS]
    rows: list[Row] = [
        [f"{row.topic}-{row.partition}", row.transactional_id, row.producer_id,
         Badge(row.verdict or "unknown", "bad" if row.verdict == "hangs" else "warn"),
         row.first_offset, row.blocked_offsets, row.reason]
        for row in shown
    ]  # fmt: skip
    return Section(
        "Open transactions", f"kafka-workbench transactions {where} --open",
        [] if rows else ["No log has an open transaction."],
        ["partition", "transactional id", "producer id", "verdict", "first offset",
         "offsets blocked", "why"],
        rows, left_out(len(facts.opened), "transaction"),
        targets=[Target(partition=f"{row.topic}-{row.partition}") for row in shown],
    )  # fmt: skip


def cluster(facts: Facts, where: str) -> Section:
    """The cluster's state."""
    found, command = facts.cluster, f"kafka-workbench cluster {where}"
    if not found.topic_ids and not found.features:
        return Section("The cluster", command, ["__cluster_metadata-0 is not here."], [], [])
    names = {topic_id: name for name, topic_id in found.topic_ids.items()}
    counts = (
        plural(len(found.topic_ids), "topic"),
        plural(len(found.partitions), "partition"),
        plural(len(found.supported), "registered node"),
    )
    features = [f"{name} {level}" for name, level in sorted(found.features.items())]
    notes = [f"{', '.join(counts)}.", f"Features: {', '.join(features) or 'none'}."]
    odd: list[Row] = [
        [f"{names.get(topic_id, topic_id)}-{number}",
         Badge("no leader", "bad") if each.leader < 0 else Badge("under-replicated", "warn"),
         each.leader, ", ".join(map(str, each.replicas)), ", ".join(map(str, each.isr)),
         each.leader_epoch]
        for (topic_id, number), each in found.partitions.items()
        if each.leader < 0 or len(each.isr) < len(each.replicas)
    ]  # fmt: skip
    leaderless = sum(each.leader < 0 for each in found.partitions.values())
    if leaderless == len(found.partitions) > 0:
        notes.append(_LEADERLESS)
        odd = []
    elif not odd:
        notes.append("Every partition has a leader, and all of its replicas are in sync.")
    return Section(
        "The cluster", command, notes,
        ["partition", "state", "leader", "replicas", "in sync", "leader epoch"],
        odd[:MOST_ROWS], left_out(len(odd), "partition"),
        targets=[Target(partition=str(row[0])) for row in odd[:MOST_ROWS]],
    )  # fmt: skip


SECTIONS: Final[dict[str, Callable[[Facts, str], Section]]] = {
    "identity": identity, "start": start, "findings": findings, "sizes": sizes, "days": days,
    "logs": logs, "stuck": stuck, "groups": groups, "transactions": transactions,
    "cluster": cluster,
}  # fmt: skip
"""Name of a section → what makes it of the facts and the paths in a shell's words; in order."""


def tiles(name: str, facts: Facts) -> Iterable[Tile]:
    """Yield the numbers that sum up a section."""
    if name == "start":
        preflight = facts.preflight
        served, starts = sum(row.verdict == "served" for row in preflight), preflight.prediction
        tone = "good" if served == len(preflight) else "warn" if starts.starts else "bad"
        yes = starts.starts
        yield Tile("broker starts", "yes" if yes else "no", "good" if yes else "bad")
        yield Tile("topics served", f"{served:,} of {len(preflight):,}", tone)
    elif name == "findings":
        for severity, label, tone in (("error", "errors", "bad"), ("warning", "warnings", "warn")):
            count = sum(each.severity == severity for each in facts.findings)
            yield Tile(label, f"{count:,}", tone if count else "good")
    elif name == "sizes":
        yield Tile("on the disk", size_text(sum(row.size for row in facts.sizes)), "calm")
    elif name == "stuck":
        yield Tile("stuck", f"{len(facts.stuck):,}", "warn" if facts.stuck else "good")
    elif name == "groups" and facts.lags:
        late = sum(row.verdict in {"stalled", "falling behind", "starts over"}
                   for row in facts.lags)  # fmt: skip
        text = f"{late:,} of {len(facts.lags):,}"
        yield Tile("offsets of late groups", text, "warn" if late else "good")


def first_upper(text: str) -> str:
    """Return a clause as a sentence begins."""
    return text[:1].upper() + text[1:]


def left_out(count: int, what: str) -> str:
    """Return how many rows of so many a section does not have; empty for none."""
    more = count - MOST_ROWS
    return f"{plural(more, f'more {what}')}: the command has all" if more > 0 else ""
