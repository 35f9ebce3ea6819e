"""Plays a schedule on a real cluster and writes it down as a golden case.

    python -m tests.replication_clusters.record INTO 4.2.0-normal-rounds …

writes ``INTO/4.2.0-normal-rounds``: ``LABEL/brokerN`` for each ``keep`` and ``end/brokerN`` after
the clean shutdown, `end/controller` with a KRaft cluster's metadata log, and ``truth.json``.
`tests.golden.archive.pack` makes the archive of it.

    python -m tests.replication_clusters.record INTO 4.2.0-group-coordinator

writes ``truth.json`` alone: what clients of `__consumer_offsets` were told.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import kafka

from tests.golden.archive import pack
from tests.replication_clusters.cluster import Cluster
from tests.replication_clusters.play import Player, copy_directory
from tests.replication_clusters.schedules import (
    GROUP_COORDINATOR,
    SCHEDULES,
    TOPIC,
    Schedule,
)

GROUPS_TOPIC = "__consumer_offsets"
METADATA_LOG = "__cluster_metadata-0"


def record(version: str, schedule: Schedule, into: Path) -> Path:
    """Play the schedule on a cluster of the version; return the folder of the case."""
    case = into / f"{version}-{schedule.name}"
    case.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        cluster = _cluster(version, schedule, Path(folder))
        with cluster:
            player = Player(cluster, case)
            played = player.play(schedule)
            led = player.state()["leader"]
            port = cluster.nodes[led].port
            consumed = cluster.wire.consume(port, TOPIC)
            highest_fetch = cluster.wire.highest_fetch(port)
        for number, node in cluster.nodes.items():
            copy_directory(node.data, case / "end" / f"broker{number}")
        if cluster.is_kraft:
            _copy_metadata(cluster.controller.data, case / "end" / "controller")
        _write(case, schedule, cluster, TOPIC, {
            "highest_fetch": highest_fetch,
            "steps": played,
            "consumed": [one._asdict() for one in consumed],
        })  # fmt: skip
    return case


def record_coordinator(version: str, into: Path) -> None:
    """Play `GROUP_COORDINATOR` on a cluster of the version."""
    case = into / f"{version}-{GROUP_COORDINATOR.name}"
    case.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        cluster = _cluster(version, GROUP_COORDINATOR, Path(folder))
        with cluster:
            cluster.create_topic("orders", GROUP_COORDINATOR.replicas, {})
            played = Player(cluster, case, GROUPS_TOPIC).play(GROUP_COORDINATOR)
        _write(case, GROUP_COORDINATOR, cluster, GROUPS_TOPIC, {"steps": played})


def _cluster(version: str, schedule: Schedule, folder: Path) -> Cluster:
    return Cluster(
        version,
        folder,
        sorted(schedule.replicas),
        schedule.settings,
        settings_of=schedule.settings_of,
        features=schedule.features,
    )


def _write(
    case: Path, schedule: Schedule, cluster: Cluster, topic: str, seen: dict[str, Any]
) -> None:
    truth: dict[str, Any] = {
        "case": case.name,
        "purpose": schedule.purpose,
        "versions": {"broker": cluster.version, "client": f"kafka-python {kafka.__version__}"},
        "metadata": "KRaft" if cluster.is_kraft else "ZooKeeper",
        "topic": {"name": topic, "replicas": schedule.replicas, "configs": schedule.topic},
        "settings": cluster.settings,
        "settings_of": schedule.settings_of,
        "features": schedule.features,
        **seen,
    }
    text = json.dumps(truth, indent=1, ensure_ascii=False)
    (case / "truth.json").write_text(f"{text}\n", encoding="utf-8")


def _copy_metadata(data: Path, into: Path) -> None:
    """Copy the metadata log of the controller: who led, and who was in sync, at each change."""
    shutil.copytree(data / METADATA_LOG, into / METADATA_LOG)
    shutil.copy2(data / "meta.properties", into / "meta.properties")


def main(into: str, *names: str) -> None:
    """Record cases, by their names in `SCHEDULES`, and pack each."""
    for name in names or tuple(SCHEDULES):
        version, _, schedule = name.partition("-")
        if schedule == GROUP_COORDINATOR.name:
            record_coordinator(version, Path(into))
            continue
        case = record(version, SCHEDULES[name], Path(into))
        pack(case, Path(into) / f"{case.name}.tar.xz")


if __name__ == "__main__":
    main(*sys.argv[1:])
