"""Jupyter widgets that show the contents of a Kafka log directory.

They need no network and no build step, and become pictures where no widget can be shown.
"""

from workbench.runtime.extras import require

# ruff: noqa: E402 - what is missing is named before an import fails
for _package in ("anywidget", "ipywidgets"):
    require(_package)

from widgets.charts import follow_theme
from widgets.cleaning.compaction import CompactionPlayer
from widgets.coordinators.group_view import GroupView
from widgets.coordinators.offsets_player import OffsetsPlayer
from widgets.coordinators.transaction_lanes import TransactionLanes
from widgets.decisions.cleaner_view import CleanerView
from widgets.decisions.retention_view import RetentionView
from widgets.decisions.what_if_view import WhatIfView
from widgets.disk.checkpoint_table import CheckpointTable
from widgets.disk.cluster_view import ClusterView
from widgets.disk.disk_usage import DiskUsage
from widgets.explorer.explorer import LogExplorer
from widgets.overview.overview import Overview
from widgets.players.player import LookupPlayer, RecoveryPlayer, StepPlayer
from widgets.records.record_browser import RecordBrowser
from widgets.replication.replica_lanes import ReplicaLanes
from widgets.replication.replication_player import ReplicationPlayer
from widgets.requests.request_player import RequestPlayer
from widgets.requests.request_view import RequestView
from widgets.stack import Stack
from widgets.verification.finding_view import FindingView
from widgets.workbench import Workbench

__all__ = [
    "CheckpointTable",
    "CleanerView",
    "ClusterView",
    "CompactionPlayer",
    "DiskUsage",
    "FindingView",
    "GroupView",
    "LogExplorer",
    "LookupPlayer",
    "OffsetsPlayer",
    "Overview",
    "RecordBrowser",
    "RecoveryPlayer",
    "ReplicaLanes",
    "ReplicationPlayer",
    "RequestPlayer",
    "RequestView",
    "RetentionView",
    "Stack",
    "StepPlayer",
    "TransactionLanes",
    "WhatIfView",
    "Workbench",
    "follow_theme",
]
