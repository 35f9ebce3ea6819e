"""The version that a directory shows is never later than the broker that wrote it."""

from collections.abc import Callable

import pytest

from tests.golden.cases import CASES, Case
from workbench.config.kafka_versions import SERIES, series_of
from workbench.inspection.broker_version import shown_version
from workbench.inspection.listing import list_log_directories

Golden = Callable[[str], Case]

LATER = {("k0.10.0-mixed-wrapper", "later"): "1.1"}
"""Directories that another broker than the case's wrote last."""

SHOWN = {
    ("4.2.0-raft", "clean"): ("4.2", "node 1 registered with metadata.version up to 29"),
    ("3.9.1-raft", "clean"): ("3.9", "metadata.version up to 21"),
    ("4.2.0-groups", "before"): ("4.0", "__transaction_state-0 has records of type 0"),
    ("4.2.0-plain-java", "data"): ("3.7", "directory.id"),
    ("2.8.2-replicas", "after/broker1"): ("2.8", "partition.metadata"),
    ("2.8.2-plain-java", "data"): ("2.4", "cluster.id"),
    ("k2.3-offsets", "after"): ("2.3", "type 2 with values of version 3"),
    ("k2.3-formats", "data"): ("2.1", "zstd"),
    ("k2.3-crash", "before"): ("2.0", "last offset of its batch"),
    ("k1.1-damage", "clean-before"): ("0.11.0", "log-start-offset-checkpoint"),
    ("k0.10.2-retention", "before"): ("0.10.1", ".timeindex"),
    ("k0.10.0-formats", "data"): ("0.10.0", "magic 1"),
    ("k0.9-damage", "clean-before"): ("0.9.0", "meta.properties"),
    ("k0.8.2-compaction", "after"): ("0.8.2", "nothing that was looked at"),
}


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_no_later_version_is_shown_than_that_of_the_broker(name: str, golden: Golden) -> None:
    case = golden(name)
    for label in case.labels:
        wrote = case.version if name != "upgrade-chain" else label.split("-")[1]
        wrote = LATER.get((name, label), wrote)
        shown = shown_version(list_log_directories([str(case.directory(label))]))
        assert SERIES.index(shown.version) <= SERIES.index(series_of(wrote)), (label, shown)


@pytest.mark.parametrize(("name", "label"), SHOWN)
def test_the_newest_evidence_is_named(name: str, label: str, golden: Golden) -> None:
    directory = golden(name).directory(label)
    shown = shown_version(list_log_directories([str(directory)]))
    version, reason = SHOWN[name, label]
    assert shown.version == version
    assert reason in shown.reason
