"""Jupyter widgets that show the contents of a Kafka log directory.

They need no network, and become pictures where no widget can be shown.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from workbench.runtime.extras import require
from workbench.runtime.words import no_attribute

if TYPE_CHECKING:  # for type checkers and editors; at run time `__getattr__` imports a name
    from widgets.charts import follow_theme as follow_theme
    from widgets.cleaning.compaction import CompactionPlayer as CompactionPlayer
    from widgets.cluster.cluster_view import ClusterView as ClusterView
    from widgets.coordinators.group_view import GroupView as GroupView
    from widgets.coordinators.offsets_player import OffsetsPlayer as OffsetsPlayer
    from widgets.coordinators.transaction_lanes import TransactionLanes as TransactionLanes
    from widgets.decisions.cleaner_view import CleanerView as CleanerView
    from widgets.decisions.retention_view import RetentionView as RetentionView
    from widgets.decisions.what_if_view import WhatIfView as WhatIfView
    from widgets.disk.checkpoint_table import CheckpointTable as CheckpointTable
    from widgets.disk.disk_usage import DiskUsage as DiskUsage
    from widgets.explorer.explorer import LogExplorer as LogExplorer
    from widgets.overview.overview import Overview as Overview
    from widgets.players.player import LookupPlayer as LookupPlayer
    from widgets.players.player import RecoveryPlayer as RecoveryPlayer
    from widgets.players.player import StepPlayer as StepPlayer
    from widgets.records.record_browser import RecordBrowser as RecordBrowser
    from widgets.replication.replica_lanes import ReplicaLanes as ReplicaLanes
    from widgets.replication.replication_player import ReplicationPlayer as ReplicationPlayer
    from widgets.requests.request_player import RequestPlayer as RequestPlayer
    from widgets.requests.request_view import RequestView as RequestView
    from widgets.sql.sql_box import SqlBox as SqlBox
    from widgets.stack import Stack as Stack
    from widgets.verification.finding_view import FindingView as FindingView
    from widgets.workbench import Workbench as Workbench

for _package in ("anywidget", "ipywidgets"):
    require(_package)

_MODULES: Final = {
    "CheckpointTable": "widgets.disk.checkpoint_table",
    "CleanerView": "widgets.decisions.cleaner_view",
    "ClusterView": "widgets.cluster.cluster_view",
    "CompactionPlayer": "widgets.cleaning.compaction",
    "DiskUsage": "widgets.disk.disk_usage",
    "FindingView": "widgets.verification.finding_view",
    "GroupView": "widgets.coordinators.group_view",
    "LogExplorer": "widgets.explorer.explorer",
    "LookupPlayer": "widgets.players.player",
    "OffsetsPlayer": "widgets.coordinators.offsets_player",
    "Overview": "widgets.overview.overview",
    "RecordBrowser": "widgets.records.record_browser",
    "RecoveryPlayer": "widgets.players.player",
    "ReplicaLanes": "widgets.replication.replica_lanes",
    "ReplicationPlayer": "widgets.replication.replication_player",
    "RequestPlayer": "widgets.requests.request_player",
    "RequestView": "widgets.requests.request_view",
    "RetentionView": "widgets.decisions.retention_view",
    "SqlBox": "widgets.sql.sql_box",
    "Stack": "widgets.stack",
    "StepPlayer": "widgets.players.player",
    "TransactionLanes": "widgets.coordinators.transaction_lanes",
    "WhatIfView": "widgets.decisions.what_if_view",
    "Workbench": "widgets.workbench",
    "follow_theme": "widgets.charts",
}
"""Public names and their modules, which are imported at the first use."""

__all__ = list(_MODULES)


def __dir__() -> list[str]:
    return list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise no_attribute(__name__, name, __dir__())
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value
