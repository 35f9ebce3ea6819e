"""Configurations given in one mapping, and which of several counts."""

import pytest

from workbench.config.settings import DEFAULT, GIVEN, INTERNAL, STORED, Settings
from workbench.errors import ConfigError
from workbench.files.names import TopicPartition

STORED_CONFIGS = {
    "orders": {"retention.ms": "10", "segment.bytes": "no number", "gone.in.4": "x"},
    "customers": {"cleanup.policy": "compact"},
}


def test_a_name_is_a_brokers_a_topics_or_one_topics_own() -> None:
    settings = Settings.of(
        {"log.cleaner.threads": 2, "retention.ms": 5, "orders:cleanup.policy": "compact"}
    )
    assert settings.broker.log_cleaner_threads == 2
    assert settings.config_of("orders").compact
    assert not settings.config_of("clicks").compact
    assert settings.config_of("clicks").retention_ms == 5
    assert Settings.of(settings) is settings
    for name in ("nothing", "orders:nothing"):
        with pytest.raises(ConfigError, match="nothing"):
            Settings.of({name: 1})


def test_what_is_nearer_to_the_topic_counts() -> None:
    settings = Settings.of({"log.retention.ms": 3}).with_stored(STORED_CONFIGS)
    assert settings.config_of("orders").retention_ms == 10
    assert settings.config_of("customers").retention_ms == 3
    assert settings.source("orders", "retention.ms") == STORED
    assert settings.source("customers", "retention.ms") == "log.retention.ms"
    assert settings.source("customers", "segment.ms") == DEFAULT
    settings = Settings.of({"retention.ms": 4}).with_stored(STORED_CONFIGS)
    assert settings.config_of("orders").retention_ms == 4
    assert settings.source("orders", "retention.ms") == GIVEN
    settings = Settings.of({"retention.ms": 4, "orders:retention.ms": 5}).with_stored(
        STORED_CONFIGS
    )
    assert settings.config_of("orders").retention_ms == 5


def test_what_brokers_keep_for_themselves_stays_as_they_keep_it() -> None:
    settings = Settings.of({"cleanup.policy": "delete"})
    assert settings.config_of("__consumer_offsets").compact
    assert settings.source("__consumer_offsets", "cleanup.policy") == INTERNAL
    settings = Settings.of({"__consumer_offsets:cleanup.policy": "delete"})
    assert not settings.config_of("__consumer_offsets").compact


def test_what_is_compacted_is_told_by_configurations_or_else_by_the_checkpoint() -> None:
    orders, clicks = TopicPartition("orders", 0), TopicPartition("clicks", 0)
    known = Settings.of({}).with_stored(STORED_CONFIGS)
    assert known.is_compacted(TopicPartition("customers", 3), {})
    assert not known.is_compacted(orders, {orders})
    assert known.is_compacted(clicks, {clicks})
    assert not known.is_compacted(clicks, {})
