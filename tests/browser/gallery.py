"""Every widget with something to see in it: for pictures, accessibility, and saved pages."""

import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, TypeVar

import workbench as wb
from tests.widgets.requested import Client, fetch, watched
from widgets import (
    CheckpointTable,
    CleanerView,
    ClusterView,
    CompactionPlayer,
    DiskUsage,
    FindingView,
    GroupView,
    LogExplorer,
    LookupPlayer,
    OffsetsPlayer,
    Overview,
    RecordBrowser,
    RecoveryPlayer,
    ReplicaLanes,
    ReplicationPlayer,
    RequestPlayer,
    RequestView,
    RetentionView,
    SqlBox,
    Stack,
    StepPlayer,
    TransactionLanes,
    WhatIfView,
    Workbench,
)
from widgets._background import Sectioned
from widgets._widget import KafkaWidget
from widgets.frame.place_bar import PlaceBar
from widgets.frame.tab_state import TabState
from workbench.foresight.rehearse.log import Rehearsal, rehearse_recovery
from workbench.server.watching.watch import RequestWatch, WatchedRequest

View = TypeVar("View", bound=Sectioned)
SAMPLES: Final = Path(os.path.relpath(Path(__file__).parents[2] / "sample_data"))
SHOP: Final = SAMPLES / "shop-4.3.1"
BROKERS: Final = SAMPLES / "two-brokers"

ENTRIES: Final[dict[type[KafkaWidget], str]] = {
    CheckpointTable: "disk/checkpoint_table.js",
    ClusterView: "cluster/cluster_view.js",
    CleanerView: "decisions/log_rules.js",
    CompactionPlayer: "compaction/compaction.js",
    DiskUsage: "disk/disk_usage.js",
    FindingView: "verification/findings.js",
    GroupView: "coordinators/group_view.js",
    LookupPlayer: "players/lookup_player.js",
    StepPlayer: "players/player.js",
    LogExplorer: "explorer/explorer.js",
    TabState: "frame/tab_state.js",
    OffsetsPlayer: "coordinators/offsets_player.js",
    Overview: "overview/overview.js",
    PlaceBar: "frame/place_bar.js",
    RecordBrowser: "records/record_browser.js",
    ReplicaLanes: "replication/replica_lanes.js",
    ReplicationPlayer: "replication/replication_player.js",
    RequestPlayer: "requests/request_player.js",
    RetentionView: "decisions/log_rules.js",
    RequestView: "requests/request_view.js",
    SqlBox: "sql/sql_box.js",
    WhatIfView: "decisions/what_if.js",
    TransactionLanes: "coordinators/transaction_lanes.js",
}
"""The module of each widget's front end; a class comes before those that it derives from."""


def entry_of(widget: KafkaWidget) -> str:
    """Return the front end's module."""
    return next(name for kind, name in ENTRIES.items() if isinstance(widget, kind))


def verified(view: FindingView) -> FindingView:
    """Return a view with all findings of its directories."""
    view.verify_all().wait()
    return view


def planned(view: CleanerView) -> CleanerView:
    """Return a view that knows what a cleaning would drop."""
    view.wait()
    return view


def made(view: View) -> View:
    """Return a view with all of its sections."""
    view.wait()
    return view


def answered(box: SqlBox) -> SqlBox:
    """Return a box whose query has run."""
    box.wait()
    return box


def one_request() -> WatchedRequest:
    """Return a fetch that a server answered."""
    with wb.serve(SHOP) as server, Client(server) as client:
        return fetch(client, 600)


@cache
def requests() -> RequestWatch:
    """Return some requests of every kind."""
    with wb.serve(SHOP) as server:
        return watched(server)


def torn_partition(folder: str) -> str:
    """Make a partition whose last batch is incomplete, in an empty folder; return its path."""
    with wb.LogManager([folder]) as manager:
        log = manager.get_or_create_log("orders-0")
        for number in range(30):
            log.append([(number, b"key", b"v" * 900)])
    segment = wb.open_log_directory(folder)["orders-0"].segments[0]
    os.truncate(segment.path, segment.size - 120)
    return os.path.join(folder, "orders-0")


@cache
def recovered() -> Rehearsal:
    """Return the recovery of a partition whose last batch is incomplete."""
    path = torn_partition(mkdtemp())
    try:
        return rehearse_recovery(path)
    finally:
        shutil.rmtree(os.path.dirname(path))


def recovery(player: type[RecoveryPlayer]) -> RecoveryPlayer:
    """Return a player of such a recovery; the partition is gone then."""
    path = torn_partition(mkdtemp())
    try:
        return player(path)
    finally:
        shutil.rmtree(os.path.dirname(path))


def brokers() -> Workbench:
    """Return the screen of two brokers' disks, with the tab of their replicas open."""
    screen = Workbench([BROKERS / "broker1", BROKERS / "broker2"])
    screen.tab = "Replicas"
    return screen


def exploring() -> Workbench:
    """Return the screen with the tab of segments, batches and bytes open."""
    screen = Workbench(SHOP)
    screen.explorer.selected = {"partition": "orders-0", "segment": 442}
    screen.tab = "Explore"
    return screen


WIDGETS: Final[dict[str, Callable[[], KafkaWidget]]] = {
    "explorer": lambda: LogExplorer(SHOP, selected={"partition": "orders-0", "segment": 442}),
    "checkpoints": lambda: CheckpointTable(SAMPLES / "damaged"),
    "cluster": lambda: ClusterView(SHOP),
    "disk": lambda: DiskUsage(SHOP),
    "cleaner": lambda: planned(CleanerView(wb.open_log_directory(SHOP)["customers-0"])),
    "compaction": lambda: CompactionPlayer(
        SHOP / "customers-0", config={"min.cleanable.dirty.ratio": 0.1}
    ),
    "lookup": lambda: LookupPlayer(SHOP / "orders-0", offset=1000),
    "records": lambda: RecordBrowser(SHOP, topic="orders", query="teapot"),
    "group": lambda: GroupView(SHOP),
    "transactions": lambda: TransactionLanes(SHOP),
    "replicas": lambda: ReplicaLanes(
        wb.compare_replicas({1: BROKERS / "broker1", 2: BROKERS / "broker2"})
    ),
    "replication": lambda: ReplicationPlayer("G-1"),
    "request": lambda: RequestPlayer(one_request()),
}
"""The widgets that are the most different, as pages of `to_html`."""

MORE: Final[dict[str, Callable[[], KafkaWidget]]] = {
    "findings": lambda: verified(FindingView(SAMPLES / "damaged")),
    "explorer-damage": lambda: LogExplorer(
        SAMPLES / "damaged", selected={"partition": "flipped-byte-0", "segment": 18}
    ),
    "explorer-values": lambda: LogExplorer(
        SHOP, selected={"partition": "orders-0", "offset": 3}, show_values=True
    ),
    "overview": lambda: made(Overview(SHOP)),
    "overview-damage": lambda: made(Overview(SAMPLES / "damaged")),
    "offsets": lambda: OffsetsPlayer.of_load(SAMPLES / "era-0.11.0.3"),
    "place": lambda: PlaceBar(
        wb.open_log_directory(SHOP),
        move=lambda _by: None,
        selected={"partition": "orders-0", "segment": 442, "position": 0, "offset": 903},
    ),
    "retention": lambda: RetentionView(
        wb.open_log_directory(SHOP)["payments-0"], {"retention.ms": "5d"}, now=1_795_700_000_000
    ),
    "recovery": lambda: recovery(RecoveryPlayer),
    "replica-disks": lambda: ReplicaLanes([BROKERS / "broker1", BROKERS / "broker2"]),
    "requests": lambda: RequestView(requests(), selected=requests()[-3].number),
    "sql": lambda: answered(
        SqlBox(SHOP, query="select partition, count(*) as n from orders group by all order by 1")
    ),
    "what-if": lambda: made(
        WhatIfView(
            SHOP,
            {"retention.ms": "5d", "min.cleanable.dirty.ratio": 0.1},
            kafka="4.1",
            now=1_795_700_000_000,
        )
    ),
    "steps": lambda: StepPlayer(recovered().steps, recovered().segments),
}
"""Other widgets, and other states of them."""

COMPOSED: Final[dict[str, Callable[[], Any]]] = {
    "brokers": brokers,
    "exploring": exploring,
    "stack": lambda: Stack([LookupPlayer(SHOP / "orders-0", offset=1000)]),
    "workbench": lambda: Workbench(SHOP),
}
"""Widgets that ipywidgets lays out: they need Jupyter's own front end."""
