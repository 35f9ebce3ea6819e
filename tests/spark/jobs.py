"""What every job says of a directory, as values of JSON: the same wherever it runs."""

import json
from dataclasses import asdict
from typing import Any

from workbench.pipelines.cluster_verify import cluster_verify
from workbench.pipelines.compaction_savings import compaction_savings
from workbench.pipelines.replica_diff import replica_diff
from workbench.pipelines.rescue_to_parquet import rescue_to_parquet
from workbench.pipelines.topic_profile import topic_profile

NOW = 1_767_225_600_000


def answers(spark: Any, logs: str, other: str, out: str) -> dict[str, list[Any]]:
    """Return the rows of each job.

    Args:
        spark: a session.
        logs: a log directory.
        other: another that `replica_diff` compares with it.
        out: a folder to rescue to.
    """
    frames = {
        "topic-profile": topic_profile(spark, logs),
        "compaction-savings": compaction_savings(spark, logs, now=NOW),
        "replica-diff": replica_diff(spark, logs, other),
    }
    found = {name: frame.toArrow().to_pylist() for name, frame in frames.items()}
    verified = cluster_verify(spark, [logs, other])
    columns = ("severity", "kind", "path", "position")
    found["cluster-verify"] = verified.findings.select(*columns).toArrow().to_pylist()
    found["rescue-to-parquet"] = [asdict(each) for each in rescue_to_parquet(spark, logs, out)]
    return {
        name: sorted((json.loads(json.dumps(row, default=str)) for row in rows), key=str)
        for name, rows in found.items()
    }
