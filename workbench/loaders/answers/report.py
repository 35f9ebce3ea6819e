"""One report on log directories for a ticket: what it is, what is wrong, what to do.

It composes what other commands say, and names with each part the command that gives it. Values and
keys of records are not in it.
"""

import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from workbench.coordinator.group_lag import group_lags
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.transactions.stored_transactions import StoredTransactions
from workbench.foresight.dry_listing import time_or_now
from workbench.foresight.preflight.results import Preflight
from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.cluster.loading import stored_cluster
from workbench.inspection.findings import SEVERITIES, Finding
from workbench.inspection.listing import Listing, opened_paths
from workbench.loaders.answers.report_page import Badge, Bar, Row, Section, Tile, page
from workbench.loaders.answers.stuck import stuck_rows
from workbench.loaders.tables.coordinator_rows import open_producer_row
from workbench.runtime.times import time_text
from workbench.runtime.words import plural
from workbench.tables.stuck import GroupLagRow, StuckRow
from workbench.tables.transactions import OpenProducerRow

_MOST_ROWS: Final = 200  # of a table; a line says how many more there are
_SOUND: Final = (
    "Nothing was found in the names, sizes, headers and indexes of all files. Without --deep, CRCs "
    "and records were not checked; the command below checks them."
)
_LEADERLESS: Final = (
    "No partition has a leader, as a cluster leaves its metadata when its last node shuts down."
)
_TONES: Final = {"error": "bad", "warning": "warn", "info": "calm"}
_VERDICTS: Final = {
    "served": "good", "damaged": "warn", "empty": "warn", "unknown": "warn", "deleted": "calm",
    "fine": "good", "falling behind": "warn", "stalled": "bad", "starts over": "bad",
}  # fmt: skip


class TopicSize(NamedTuple):
    """The bytes of one topic, by names and sizes of files.

    Attributes:
        topic: its name.
        partitions: how many logs it has here.
        logs: bytes of `.log` files in use.
        others: bytes of all other files of those logs.
        leftovers: bytes of `-delete`, `-stray` and `-future` folders.
    """

    topic: str
    partitions: int
    logs: int
    others: int
    leftovers: int

    @property
    def size(self) -> int:
        """All of its bytes."""
        return self.logs + self.others + self.leftovers


def topic_sizes(listing: Listing) -> list[TopicSize]:
    """Return the bytes of each topic, largest first; no file is opened."""
    found: dict[str, list[int]] = {}
    for root in listing.roots:
        for partition in root.partitions:
            row = found.setdefault(partition.topic, [0, 0, 0, 0])
            size = sum(file.size for file in partition.files)
            if partition.kind != "log":
                row[3] += size
                continue
            row[0] += 1
            row[1] += partition.size
            row[2] += size - partition.size
    rows = [TopicSize(topic, *row) for topic, row in found.items()]
    return sorted(rows, key=lambda row: (-row.size, row.topic))


def report_html(
    listing: Listing, preflight: Preflight, findings: Sequence[Finding], now: int | None
) -> str:
    """Return the report as one HTML file.

    Args:
        listing: the log directories.
        preflight: of a start on them.
        findings: what `verify` reports.
        now: ms; what ages are measured by. None: groups by the newest commit, everything else by
            the machine's time.

    Raises:
        OSError: a file of the coordinators' topics cannot be read.
    """
    where = " ".join(shlex.quote(path) for path in opened_paths(listing))
    cluster = stored_cluster(listing)
    sizes = topic_sizes(listing)
    stuck = sorted(stuck_rows(listing, now=now), key=lambda row: -row.bytes)
    lags = sorted(group_lags(StoredGroups(listing), now), key=lambda row: -(row.lag or 0))
    opened = [*map(open_producer_row, StoredTransactions(listing).open_producers())]
    sections = [
        _identity(preflight, where),
        _preflight(preflight, where),
        _findings(findings, where),
        _sizes(sizes, where),
        _stuck(stuck, where),
        _groups(lags, where),
        _transactions(opened, where),
        _cluster(cluster, where),
    ]
    tiles = _tiles(preflight, findings, sizes, stuck, lags)
    made = f"Made {time_text(time_or_now(now))}; keys and values are not in it."
    subtitle = f"{_first_upper(preflight.summary)}. {made}"
    title = ", ".join(opened_paths(listing))
    return page(title, subtitle, tiles, sections)


def _tiles(
    preflight: Preflight,
    findings: Sequence[Finding],
    sizes: Sequence[TopicSize],
    stuck: Sequence[StuckRow],
    lags: Sequence[GroupLagRow],
) -> list[Tile]:
    served = sum(row.verdict == "served" for row in preflight)
    errors = sum(each.severity == "error" for each in findings)
    warnings = sum(each.severity == "warning" for each in findings)
    starts = preflight.prediction.starts
    late = sum(row.verdict in {"stalled", "falling behind", "starts over"} for row in lags)
    return [
        Tile("broker starts", "yes" if starts else "no", "good" if starts else "bad"),
        Tile("topics served", f"{served:,} of {len(preflight):,}",
             "good" if served == len(preflight) else "warn" if starts else "bad"),
        Tile("errors", f"{errors:,}", "bad" if errors else "good"),
        Tile("warnings", f"{warnings:,}", "warn" if warnings else "good"),
        Tile("on the disk", size_text(sum(row.size for row in sizes)), "calm"),
        Tile("stuck", f"{len(stuck):,}", "warn" if stuck else "good"),
        Tile("offsets of late groups", f"{late:,} of {len(lags):,}", "warn" if late else "good"),
    ]  # fmt: skip


def _identity(preflight: Preflight, where: str) -> Section:
    shown, meant = preflight.shown, preflight.broker
    notes = [f"The directories show Kafka {shown.version}: {shown.reason}."]
    if meant.version != shown.version:
        notes.append(f"A broker of Kafka {meant.version} is meant: {meant.reason}.")
    rows: list[Row] = [
        [row.path, Badge(row.verdict, "good" if row.verdict == "online" else "bad"),
         row.cluster_id, row.node_id, row.directory_id,
         Badge("clean", "good") if row.had_clean_shutdown else Badge("unclean", "warn")]
        for row in preflight.directories
    ]  # fmt: skip
    headings = ["log directory", "start", "cluster id", "node", "directory id", "shutdown"]
    command = f"kafka-workbench preflight {where}"
    return Section("What this is", command, notes, headings, rows)


def _preflight(preflight: Preflight, where: str) -> Section:
    rows: list[Row] = [
        [row.topic, Badge(row.verdict, _VERDICTS.get(row.verdict, "bad")), row.partitions,
         size_text(row.size), size_text(row.recovery_bytes), size_text(row.bytes_cut), row.reason]
        for row in sorted(preflight, key=lambda row: (row.verdict == "served", row.topic))
    ]  # fmt: skip
    concerns = [(Badge(each.severity, _TONES[each.severity]), each.what) for each in
                preflight.concerns]  # fmt: skip
    return Section(
        "Will the topics be served?", f"kafka-workbench preflight {where}",
        [f"{_first_upper(str(preflight.recovery))}."],
        ["topic", "verdict", "partitions", "bytes", "recovery reads", "truncated", "why"],
        rows[:_MOST_ROWS], _left(len(rows), "topic"), concerns, list(preflight.steps),
    )  # fmt: skip


def _findings(findings: Sequence[Finding], where: str) -> Section:
    ordered = sorted(findings, key=lambda each: -SEVERITIES.index(each.severity))
    rows: list[Row] = [
        [Badge(each.severity, _TONES[each.severity]), each.kind, each.path, each.position,
         each.offset, each.found, each.broker]
        for each in ordered[:_MOST_ROWS]
    ]  # fmt: skip
    return Section(
        "What is damaged?", f"kafka-workbench verify {where}",
        [] if rows else [_SOUND],
        ["severity", "kind", "file", "byte", "offset", "found", "what a broker does"],
        rows, _left(len(findings), "finding"),
    )  # fmt: skip


def _sizes(sizes: Sequence[TopicSize], where: str) -> Section:
    total = sum(row.size for row in sizes) or 1
    rows: list[Row] = [
        [row.topic, row.partitions, size_text(row.size), Bar(row.size / total),
         size_text(row.logs), size_text(row.others), size_text(row.leftovers)]
        for row in sizes[:_MOST_ROWS]
    ]  # fmt: skip
    return Section(
        "What fills the disk?", f"kafka-workbench ls {where} --topics --sort size", [],
        ["topic", "partitions", "bytes", "share", "segments", "indexes, snapshots",
         "deleted, stray, moving"],
        rows, _left(len(sizes), "topic"),
    )  # fmt: skip


def _stuck(stuck: Sequence[StuckRow], where: str) -> Section:
    rows: list[Row] = [
        [f"{row.topic}-{row.partition}", Badge(row.what, "warn"), row.holder, row.offset,
         size_text(row.bytes), row.reason, row.action]
        for row in stuck[:_MOST_ROWS]
    ]  # fmt: skip
    return Section(
        "What is stuck?", f"kafka-workbench stuck {where}",
        [] if rows else ["Everything is deleted, compacted, readable and consumed as configured."],
        ["partition", "what", "held by", "offset", "bytes behind", "why", "to do"],
        rows, _left(len(stuck), "row"),
    )  # fmt: skip


def _groups(lags: Sequence[GroupLagRow], where: str) -> Section:
    rows: list[Row] = [
        [row.group, f"{row.topic}-{row.partition}",
         Badge(row.verdict, _VERDICTS.get(row.verdict, "calm")), row.lag,
         None if row.lag_ms is None else row.lag_ms // 1000,
         None if row.lag_bytes is None else size_text(row.lag_bytes), row.reason]
        for row in lags[:_MOST_ROWS]
    ]  # fmt: skip
    return Section(
        "Groups by lag", f"kafka-workbench stuck {where}",
        [] if rows else ["No committed offset is in these directories."],
        ["group", "partition", "verdict", "lag", "seconds behind", "bytes behind", "why"],
        rows, _left(len(lags), "offset"),
    )  # fmt: skip


def _transactions(opened: Sequence[OpenProducerRow], where: str) -> Section:
    rows: list[Row] = [
        [f"{row.topic}-{row.partition}", row.transactional_id, row.producer_id,
         Badge(row.verdict or "unknown", "bad" if row.verdict == "hangs" else "warn"),
         row.first_offset, row.blocked_offsets, row.reason]
        for row in opened[:_MOST_ROWS]
    ]  # fmt: skip
    return Section(
        "Open transactions", f"kafka-workbench transactions {where} --open",
        [] if rows else ["No log has an open transaction."],
        ["partition", "transactional id", "producer id", "verdict", "first offset",
         "offsets blocked", "why"],
        rows, _left(len(opened), "transaction"),
    )  # fmt: skip


def _cluster(cluster: StoredCluster, where: str) -> Section:
    command = f"kafka-workbench cluster {where}"
    if not cluster.topic_ids and not cluster.features:
        return Section("The cluster", command, ["__cluster_metadata-0 is not here."], [], [])
    names = {topic_id: name for name, topic_id in cluster.topic_ids.items()}
    counts = (
        plural(len(cluster.topic_ids), "topic"),
        plural(len(cluster.partitions), "partition"),
        plural(len(cluster.supported), "registered node"),
    )
    features = [f"{name} {level}" for name, level in sorted(cluster.features.items())]
    notes = [f"{', '.join(counts)}.", f"Features: {', '.join(features) or 'none'}."]
    odd: list[Row] = [
        [f"{names.get(topic_id, topic_id)}-{number}",
         Badge("no leader", "bad") if each.leader < 0 else Badge("under-replicated", "warn"),
         each.leader, ", ".join(map(str, each.replicas)), ", ".join(map(str, each.isr)),
         each.leader_epoch]
        for (topic_id, number), each in cluster.partitions.items()
        if each.leader < 0 or len(each.isr) < len(each.replicas)
    ]  # fmt: skip
    leaderless = sum(each.leader < 0 for each in cluster.partitions.values())
    if leaderless == len(cluster.partitions) > 0:
        notes.append(_LEADERLESS)
        odd = []
    elif not odd:
        notes.append("Every partition has a leader, and all of its replicas are in sync.")
    return Section(
        "The cluster", command, notes,
        ["partition", "state", "leader", "replicas", "in sync", "leader epoch"],
        odd[:_MOST_ROWS], _left(len(odd), "partition"),
    )  # fmt: skip


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _left(count: int, what: str) -> str:
    more = count - _MOST_ROWS
    return f"{plural(more, f'more {what}')}: the command has all" if more > 0 else ""


def size_text(size: int) -> str:
    """Return bytes with a unit of at most four digits: ``1.5 MiB``."""
    number = float(size)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if number < 1000 or unit == "TiB":
            break
        number /= 1024
    return f"{size:,} B" if unit == "B" else f"{number:,.1f} {unit}"
