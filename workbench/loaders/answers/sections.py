"""What is said of log directories as a whole, in sections: for the report and for the overview.

A section composes what other commands say, and names the command that gives it. Values and keys of
records are not in it.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Literal

from workbench.comparison.advice import advice
from workbench.comparison.results import PartitionComparison, Verdict
from workbench.config.internal_topics import METADATA_LOG
from workbench.foresight.preflight.first_minutes import FirstMinutes
from workbench.foresight.preflight.results import Preflight
from workbench.inspection.brokers import listings_by_broker
from workbench.inspection.findings import SEVERITIES
from workbench.inspection.listing import Listing, opened_paths
from workbench.loaders.answers.facts import Facts, LogVerdict
from workbench.loaders.answers.report_page import Badge, Bar, Cell, Row, Section, Target, Tile, page
from workbench.loaders.offsets.damage import loss_text, losses_by_place, summary
from workbench.runtime.times import duration_text, time_or_now, time_text
from workbench.runtime.words import named_or_more, plural, short_name, size_text
from workbench.tables.offsets import DamagedRangeRow
from workbench.tables.stuck import StuckRow


def verdict(facts: Facts) -> str:
    """Return whether a broker starts, what the first minutes take, and what blocks readers."""
    preflight = facts.preflight
    if not preflight.prediction.starts:
        return f"No broker starts here: {preflight.prediction.problem}."
    taken = [*_taken(preflight)]
    what = f", and within minutes {' and '.join(taken)}" if taken else ""
    if not taken and preflight.first_minutes is not None:
        what = "; its first minutes take nothing"
    return f"A broker starts{what}{_not_served(preflight)}{_blocked(facts)}."


def deleted_bytes(minutes: FirstMinutes) -> int:
    """Return the bytes that the first check of retention deletes for good."""
    return sum(each.size for each in minutes.passes if each.what == "retention")


def _taken(preflight: Preflight) -> Iterator[str]:
    minutes = preflight.first_minutes or FirstMinutes()
    size = deleted_bytes(minutes)
    if size:
        whole = size_text(sum(row.size for row in preflight))
        topics = sorted(
            {each.topic for each in minutes.passes if each.what == "retention" and each.records}
        )
        yield f"retention deletes {size_text(size)} of {whole} ({named_or_more(topics)})"
    dropped = sum(each.records for each in minutes.passes if each.what == "compaction")
    if dropped:
        yield f"compaction drops {plural(dropped, 'record')}"
    groups = sorted({each.group for each in minutes.restarts})
    if groups:
        places = plural(len(minutes.restarts), "partition")
        verb = "does" if len(groups) == 1 else "do"
        yield f"{named_or_more(groups)} {verb} not go on where they stopped, in {places}"


def _not_served(preflight: Preflight) -> str:
    names = [row.topic for row in preflight if row.verdict in {"not served", "served in part"}]
    return f"; not served: {named_or_more(names)}" if names else ""


def _blocked(facts: Facts) -> str:
    held = [
        f"{row.transactional_id or f'producer {row.producer_id}'} blocks "
        f"{row.topic}-{row.partition}"
        for row in facts.opened
    ]
    return f"; the open transaction of {named_or_more(held)}" if held else ""


MOST_ROWS: Final = 200
"""Of a table; a line says how many more there are."""
_SOUND: Final = "Nothing was found in the names, sizes, headers and indexes of all files"
_SHALLOW: Final = (
    "CRCs and records were not checked (--deep does): the command below checks them, too."
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
_COUNTED: Final[tuple[tuple[Literal["error", "warning"], str, str], ...]] = (
    ("error", "errors in files", "bad"), ("warning", "warnings in files", "warn"),
)  # fmt: skip
_VERDICTS: Final = {
    "served": "good", "damaged": "warn", "expiring": "warn", "empty in part": "warn",
    "empty": "warn", "unknown": "warn", "deleted": "calm",
    "fine": "good", "advancing": "calm", "falling behind": "warn", "stalled": "bad",
    "starts over": "bad",
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
        [Target(topic=row.topic) for row in ordered], verdict(facts),
    )  # fmt: skip


def replicas(facts: Facts, where: str) -> Section:
    """Whether the replicas of several brokers agree, and which to keep."""
    compared = facts.replicas
    shown = compared[:MOST_ROWS]
    rows: list[Row] = [
        [each.name, Badge(each.verdict, _AGREEMENTS[each.verdict]), each.ahead,
         ", ".join(f"{one.broker}: {one.log_end_offset:,}" for one in each.replicas), advice(each)]
        for each in shown
    ]  # fmt: skip
    depth = "every CRC was checked" if facts.is_deep else "headers and stored CRCs were compared"
    return Section(
        "Do the replicas agree?", f"kafka-workbench compare-replicas {_by_broker(facts, where)}",
        [f"Directories of {plural(len(facts.brokers), 'broker')}; {depth}."],
        ["partition", "verdict", "ahead", "log end offset by broker", "what to keep"],
        rows, left_out(len(compared), "partition"),
        targets=[Target(partition=each.name) for each in shown],
        verdict=_agreement(compared),
    )  # fmt: skip


_AGREEMENTS: Final[dict[Verdict, str]] = {
    "alike": "good", "lag": "warn", "damage": "bad", "divergence": "bad", "loss": "bad",
}  # fmt: skip
_DISAGREEMENTS: Final[dict[Verdict, str]] = {
    "lag": "has a replica that is behind", "damage": "has a damaged replica",
    "divergence": "has replicas with different records", "loss": "loses committed records",
}  # fmt: skip


def _agreement(compared: Sequence[PartitionComparison]) -> str:
    """Return in one sentence whether replicas agree, by the worst that was found."""
    worst = compared[0].verdict if compared else "alike"
    if worst == "alike":
        return "The replicas of all partitions hold the same records."
    first, *others = [each for each in compared if each.verdict == worst]
    more = f", and so do {plural(len(others), 'other')}" if others else ""
    return f"{first.name} {_DISAGREEMENTS[worst]}{more}. {advice(first)}"


def _by_broker(facts: Facts, where: str) -> str:
    """Return the directories as `compare-replicas` takes them."""
    pairs = [
        f"{node_id}={shlex.quote(path)}"
        for node_id, own in facts.brokers.items()
        for path in opened_paths(own)
    ]
    return " ".join(pairs) or where


def findings(facts: Facts, where: str) -> Section:
    """What is damaged."""
    ordered = sorted(facts.findings, key=lambda each: -SEVERITIES.index(each.severity))
    lost = losses_by_place(facts.losses)
    place_of = _places(facts.listing)
    rows: list[Row] = [
        [Badge(each.severity, _TONES[each.severity]), each.kind, *place_of(each.path),
         each.position, each.offset, each.found, _lost(lost.get((each.path, each.position))),
         each.broker]
        for each in ordered[:MOST_ROWS]
    ]  # fmt: skip
    return Section(
        "What is damaged?", _verify(facts, where),
        [*_what_was_checked(facts)],
        ["severity", "kind", "partition", "file", "byte", "offset", "found", "lost",
         "what a broker does"],
        rows, left_out(len(ordered), "finding"),
        targets=[Target(finding=each) for each in ordered[:MOST_ROWS]],
    )  # fmt: skip


def _verify(facts: Facts, where: str) -> str:
    """Return the command that finds the same: of several brokers, the directories of each."""
    places = [shlex.join(opened_paths(own)) for own in facts.brokers.values()]
    return "; ".join(f"kafka-workbench verify {place}" for place in places or [where])


def _what_was_checked(facts: Facts) -> Iterator[str]:
    """Yield how deep the check was, and how much of damaged logs can be read."""
    readable = summary(facts.losses)
    if readable:
        yield f"{readable}."
    if facts.removal:
        yield facts.removal
    if not facts.findings:
        deep = ", every CRC was checked, and every record decoded" if facts.is_deep else ""
        yield f"{_SOUND}{deep}."
    if not facts.is_deep:
        yield _SHALLOW


def _places(listing: Listing) -> Callable[[str], tuple[str | None, str | None]]:
    """Return what names the partition of a path, and the file in it; the path where there is none.

    In a single log directory, paths are those below it.
    """
    names = {partition.path: name for name, partition in listing.partitions.items()}
    roots = [root.path.rstrip("/") for root in listing.roots]

    def place_of(path: str) -> tuple[str | None, str | None]:
        if path in names:
            return names[path], None
        folder, _, file = path.rpartition("/")
        if folder in names:
            return names[folder], short_name(file)
        return None, path.removeprefix(f"{roots[0]}/") if len(roots) == 1 else path

    return place_of


def _lost(row: DamagedRangeRow | None) -> str | None:
    return None if row is None else first_upper(loss_text(row).removeprefix("Lost: "))


def sizes(facts: Facts, where: str) -> Section:
    """What fills the disk."""
    total = facts.listing.occupied
    notes = []
    if others := facts.listing.occupied_by_others:
        notes.append(f"{size_text(others)} more are in files of no topic, such as checkpoints.")
    holes = sum(row.length - row.size for row in facts.sizes)
    if holes:
        notes.append(
            f"The files are {size_text(holes)} longer than that: holes, as preallocated indexes "
            "have, take no room."
        )
    rows: list[Row] = [
        [row.topic, row.partitions, size_text(row.size), Bar(row.size / (total or 1)),
         size_text(row.logs), size_text(row.others),
         size_text(row.leftovers) if row.leftovers else None]
        for row in facts.sizes[:MOST_ROWS]
    ]  # fmt: skip
    return Section(
        "What fills the disk?", f"kafka-workbench ls {where} --topics --sort size", notes,
        ["topic", "partitions", "on the disk", "share", "segments", "indexes, snapshots",
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
        "Is it cleaned and deleted as configured?", f"kafka-workbench explain {where}",
        [] if _is_configured(facts) else [_DEFAULTS],
        ["partition", "bytes", "cleanup.policy", "cleaner", "retention", "why"],
        rows, left_out(len(facts.logs), "log"),
        targets=[Target(partition=row.partition, what=None if row.is_compacted else BY_RETENTION)
                 for row in shown],
    )  # fmt: skip


def not_loaded(partition: str) -> Badge:
    """Return what is said of a log that the log manager does not load."""
    is_of_kraft = partition == METADATA_LOG
    return Badge("KRaft's own", "calm") if is_of_kraft else Badge("not loaded", "bad")


def _log_cells(row: LogVerdict) -> list[Cell]:
    if row.problem:
        return [not_loaded(row.partition), None, row.problem]
    cleaner: Cell = None
    if row.is_compacted:
        cleaner = Badge("due", "good") if row.is_due else Badge("waits", "calm")
    deletes = f"deletes {size_text(row.deleted_bytes)}" if row.deletes else "keeps"
    why = row.cleaning if row.is_compacted else row.retention
    return [cleaner, Badge(deletes, "warn" if row.deletes else "calm"), first_upper(f"{why}.")]


_DEFAULTS: Final = (
    "These directories hold no configuration: Kafka's defaults are assumed, such as retention.ms "
    "of 7 days."
)


def _is_configured(facts: Facts) -> bool:
    """Return whether the directories have the configurations of topics."""
    return facts.listing.metadata_log is not None


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
        [] if rows else [
            "Everything is deleted, compacted, readable and consumed as configured."
            if _is_configured(facts)
            else f"Everything is deleted, compacted, readable and consumed. {_DEFAULTS}"
        ],
        ["partition", "what", "held by", "offset", "bytes behind", "why", "to do"],
        rows, left_out(len(facts.stuck), "row"),
        targets=[_of_stuck(row) for row in shown],
    )  # fmt: skip


def _of_stuck(row: StuckRow) -> Target:
    group = row.holder.removeprefix("group ") if row.holder.startswith("group ") else None
    return Target(partition=f"{row.topic}-{row.partition}", group=group, what=row.what)


_AT_NEWEST_COMMIT: Final = (
    "Lags are judged over the hour before the newest commit, what has expired by this machine's "
    "time."
)


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
        ([_AT_NEWEST_COMMIT] if facts.now is None else [])
        if rows else ["No committed offset is in these directories."],
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
    "replicas": replicas, "identity": identity, "start": start, "findings": findings,
    "sizes": sizes, "days": days,
    "logs": logs, "stuck": stuck, "groups": groups, "transactions": transactions,
    "cluster": cluster,
}  # fmt: skip
"""Name of a section → what makes it of the facts and the paths in a shell's words; in order."""

OF_ONE_BROKER: Final = frozenset({"identity", "start", "logs", "stuck"})
"""Sections that start a broker dry; a start is of one."""


def sections_of(facts: Facts) -> list[str]:
    """Return the names of the sections that can be made of directories, in order."""
    kept = SECTIONS.keys() - (OF_ONE_BROKER if facts.brokers else {"replicas"})
    return [name for name in SECTIONS if name in kept]


def tiles(name: str, facts: Facts) -> Iterable[Tile]:
    """Yield the numbers that sum up a section."""
    if name == "replicas":
        differing = sum(each.verdict != "alike" for each in facts.replicas)
        tone = _AGREEMENTS[facts.replicas[0].verdict] if facts.replicas else "good"
        yield Tile("partitions differ", f"{differing:,} of {len(facts.replicas):,}", tone)
    elif name == "start":
        preflight = facts.preflight
        served, starts = sum(row.verdict == "served" for row in preflight), preflight.prediction
        tone = "good" if served == len(preflight) else "warn" if starts.starts else "bad"
        yes = starts.starts
        yield Tile("broker starts", "yes" if yes else "no", "good" if yes else "bad")
        yield Tile("topics served whole", f"{served:,} of {len(preflight):,}", tone)
        minutes = preflight.first_minutes
        if yes and minutes is not None:
            size = deleted_bytes(minutes)
            tone = "bad" if size else "good"
            yield Tile("deleted after a start", size_text(size), tone, "loss")
    elif name == "findings":
        for severity, label, tone in _COUNTED:
            count = sum(each.severity == severity for each in facts.findings)
            yield Tile(label, f"{count:,}", tone if count else "good", severity)
    elif name == "sizes":
        yield Tile("on the disk", size_text(facts.listing.occupied), "calm")
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


def report_html(facts: Facts, brokers: Sequence[Facts] = ()) -> str:
    """Return the report as one HTML file.

    Args:
        facts: of all directories.
        brokers: of the directories of each broker, where those of several were opened: each has its
            own answers to what one broker does.

    Raises:
        OSError: a file of the coordinators' topics cannot be read.
    """
    made = f"Made {time_text(time_or_now(facts.now))}; keys and values are not in it."
    names = sections_of(facts)
    sections = [SECTIONS[name](facts, _where(facts)) for name in names]
    numbers = [tile for name in names for tile in tiles(name, facts)]
    for own in brokers:
        told = f"Broker {next(iter(listings_by_broker(own.listing)))}: "
        asked = [SECTIONS[name](own, _where(own)) for name in SECTIONS if name in OF_ONE_BROKER]
        sections += [
            part._replace(title=f"{told}{part.title}", verdict=part.verdict and told + part.verdict)
            for part in asked
        ]
    verdict = " ".join(part.verdict for part in sections if part.verdict)
    return page(", ".join(opened_paths(facts.listing)), verdict, made, numbers, sections)


def _where(facts: Facts) -> str:
    return shlex.join(opened_paths(facts.listing))
