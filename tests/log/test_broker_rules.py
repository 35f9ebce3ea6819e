"""The rules of each version change where Kafka's sources change; unknown versions are refused.

Right values were read in Kafka's repository at the tags named: the last before and the first after
each change. Those of a start from 3.0 on are what brokers did (`tests/startup/outcomes`).
"""

from itertools import pairwise

import pytest

from workbench.config.broker_rules import (
    BrokerRules,
    FailedDirectoryRule,
    IndexCheck,
    PropertiesRule,
    SnapshotRule,
    StrayRule,
    SwapRule,
    TopicsFrom,
    limits,
)
from workbench.config.kafka_versions import SERIES, number_of, series_of
from workbench.errors import ConfigError

CHANGES = [
    # rule, last tag before, its value, first tag after, its value
    ("index_check", "0.8.2.2", IndexCheck.REFUSES, "0.9.0.1", IndexCheck.REBUILDS),
    ("index_check", "2.2.2", IndexCheck.REBUILDS, "2.3.0", IndexCheck.SKIPPED),
    ("leaves_missing_index", "0.8.2.2", False, "0.9.0.1", True),
    ("leaves_missing_index", "0.10.0.1", True, "0.10.1.1", False),
    ("leaves_missing_index", "1.0.2", False, "1.1.1", True),
    ("leaves_missing_index", "2.2.2", True, "2.3.1", False),
    ("has_time_index", "0.10.0.1", False, "0.10.1.1", True),
    ("has_producer_state", "0.10.2.2", False, "0.11.0.2", True),
    ("snapshots", "0.10.2.2", SnapshotRule.NONE, "0.11.0.2", SnapshotRule.LAST_SEGMENTS),
    ("snapshots", "2.7.2", SnapshotRule.LAST_SEGMENTS, "2.8.2", SnapshotRule.EACH_SEGMENT),
    ("indexes_last_offset", "1.1.1", False, "2.0.1", True),
    ("skips_bad_tail", "0.10.1.1", True, "0.10.2.2", False),
    ("recovery_limits_size", "0.10.2.2", True, "0.11.0.2", False),
    ("swaps", "0.8.2.2", SwapRule.RENAME_LOG, "0.9.0.1", SwapRule.RECOVER_FROM_FLOOR),
    ("swaps", "1.1.1", SwapRule.RECOVER_FROM_FLOOR, "2.0.1", SwapRule.RECOVER_OVERLAPPING),
    ("swaps", "2.8.2", SwapRule.RECOVER_OVERLAPPING, "3.0.2", SwapRule.RENAME_ALL),
    ("undoes_partial_swaps", "1.1.1", False, "2.0.1", True),
    ("splits_overflow", "1.1.1", False, "2.0.1", True),
    ("moves_first_epoch", "2.8.2", True, "3.0.2", False),
    ("searches_last_offsets", "4.0.0", True, "4.1.0", False),
    ("allocates_told_size", "0.9.0.1", True, "0.10.0.1", False),
    ("empties_below_start", "2.2.0", False, "2.2.1", True),
    ("has_delete_horizons", "3.0.2", False, "3.1.2", True),
    ("keeps_last_of_round", "3.9.1", False, "4.0.0", True),
    ("upgrades_old_batches", "3.9.1", False, "4.0.0", True),
    ("writes_old_formats", "2.8.2", True, "3.0.2", False),
    ("deletes_below_start", "0.10.2.2", False, "0.11.0.2", True),
    ("needs_keys", "0.8.2.2", True, "0.9.0.1", False),
    ("unpacks", "0.8.2.2", True, "0.9.0.1", False),
    ("has_min_lag", "0.10.0.1", False, "0.10.1.1", True),
    ("has_max_lag", "2.2.2", False, "2.3.1", True),
    ("cleans_at_load", "3.0.2", True, "3.1.2", False),
    ("marks_uncleanable", "2.0.1", False, "2.1.1", True),
    ("newest_magic", "0.9.0.1", 0, "0.10.0.1", 1),
    ("newest_magic", "0.10.2.2", 1, "0.11.0.3", 2),
    ("resets_beyond_end", "2.2.2", False, "2.3.1", True),
    ("retains_by_file_time", "0.10.0.1", True, "0.10.1.1", False),
    ("knows_unlimited_age", "0.8.2.2", False, "0.9.0.1", True),
    ("rolls_by_creation", "0.10.0.1", True, "0.10.1.1", False),
    ("keeps_above_high_watermark", "0.10.2.2", False, "0.11.0.2", True),
    ("has_remote_tier", "3.5.2", False, "3.6.2", True),
    ("topics_from", "2.8.2", TopicsFrom.ZOOKEEPER, "3.0.2", TopicsFrom.EITHER),
    ("topics_from", "3.9.1", TopicsFrom.EITHER, "4.0.0", TopicsFrom.METADATA_LOG),
    ("strays", "2.8.2", StrayRule.KEPT, "3.0.2", StrayRule.DELETED),
    ("strays", "3.6.2", StrayRule.DELETED, "3.7.1", StrayRule.RENAMED_AT_LOAD),
    ("knows_stray_names", "3.3.2", False, "3.6.2", True),
    (
        "failed_directory",
        "3.0.2",
        FailedDirectoryRule.ENDS_IN_A_LOG,
        "3.3.2",
        FailedDirectoryRule.MAKES_LOGS_AGAIN,
    ),
    (
        "failed_directory",
        "3.6.2",
        FailedDirectoryRule.MAKES_LOGS_AGAIN,
        "3.7.2",
        FailedDirectoryRule.KEEPS_PLACES,
    ),
    ("checks_topic_id_version", "3.6.2", True, "3.7.2", False),
    ("reads_snapshots_at_start", "3.3.2", False, "3.6.2", True),
    ("checks_quorum_state_version", "3.6.2", False, "3.7.2", True),
    ("skips_unreadable_properties", "3.6.2", False, "3.7.2", True),
    ("needs_properties_version", "2.7.2", True, "2.8.2", False),
    (
        "properties_alike",
        "2.3.1",
        PropertiesRule.IDS_THAT_ARE_THERE,
        "2.4.1",
        PropertiesRule.BOTH_IDS,
    ),
    ("properties_alike", "2.7.2", PropertiesRule.BOTH_IDS, "2.8.2", PropertiesRule.EVERYTHING),
    (
        "properties_alike",
        "3.3.2",
        PropertiesRule.EVERYTHING,
        "3.4.1",
        PropertiesRule.EVERYTHING_WITH_ZOOKEEPER,
    ),
    (
        "properties_alike",
        "3.6.2",
        PropertiesRule.EVERYTHING_WITH_ZOOKEEPER,
        "3.7.2",
        PropertiesRule.IDS_THAT_ARE_THERE,
    ),
    ("clears_quorum_state", "3.7.1", True, "3.8.0", False),
    ("has_directory_ids", "3.6.2", False, "3.7.1", True),
    ("epoch_in_clean_shutdown", "3.6.2", False, "3.7.1", True),
    ("stores_cluster_id", "2.3.1", False, "2.4.1", True),
    ("indexes_each_batch", "3.8.1", False, "3.9.1", True),
    ("least_segment_bytes", "4.0.0", 14, "4.1.1", 1 << 20),
    ("least_log_segment_bytes", "3.9.1", 14, "4.0.0", 1 << 20),
]


@pytest.mark.parametrize(("rule", "before", "was", "after", "became"), CHANGES)
def test_a_rule_changes_between_two_tags(
    rule: str, before: str, was: object, after: str, became: object
) -> None:
    assert getattr(BrokerRules.of(before), rule) == was
    assert getattr(BrokerRules.of(after), rule) == became


def test_every_rule_that_changed_is_in_the_table_as_often_as_it_changes() -> None:
    """Between neighboring series nothing changes that the table does not name, nor less."""
    changes = {
        (rule, series)
        for rule in BrokerRules._fields[1:]
        for before, series in pairwise(SERIES)
        if getattr(BrokerRules.of(before), rule) != getattr(BrokerRules.of(series), rule)
    }
    named = {(rule, series_of(after)) for rule, _, _, after, _ in CHANGES}
    assert changes == named


@pytest.mark.parametrize(
    ("asked", "series"),
    [
        ("0.8", "0.8.2"), ("0.9", "0.9.0"), ("0.9.0.1", "0.9.0"), ("0.10", "0.10.2"),
        ("0.11.x", "0.11.0"), ("1.1.1", "1.1"), ("2.8.x", "2.8"), ("4.3.1", "4.3"),
    ],
)  # fmt: skip
def test_a_version_is_of_a_series(asked: str, series: str) -> None:
    assert series_of(asked) == series
    assert BrokerRules.of(asked).series == series


def test_a_series_is_as_its_last_release() -> None:
    assert number_of("2.2") > number_of("2.2.2") > number_of("2.2.1") > number_of("2.1.1")
    assert number_of("0.9.0.1") < number_of("0.9")


@pytest.mark.parametrize("asked", ["4.5", "0.8.1", "0.7", "2", "2.8.2.1", "two", "", "2.x", "-1.0"])
def test_an_unknown_version_is_refused_with_the_known_ones(asked: str) -> None:
    with pytest.raises(ConfigError, match=r"not a known version.* 0\.8\.2, .* 4\.4$"):
        BrokerRules.of(asked)


def test_what_is_not_modeled_is_said_of_old_versions_only() -> None:
    assert not limits(BrokerRules.of("4.2"))
    assert len(limits(BrokerRules.of("0.8.2"))) > len(limits(BrokerRules.of("2.7"))) > 0
    assert not limits(BrokerRules.of("3.0"))
    assert set(limits(BrokerRules.of("0.9"))) == {
        *limits(BrokerRules.of("0.9"), "start"),
        *limits(BrokerRules.of("0.9"), "cleaning"),
    }
