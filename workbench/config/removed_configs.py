"""Configurations that brokers once had, with the version that removed them and what to use instead.

Kafka: the upgrade notes of 0.9 to 4.0, KIP-724, KIP-937, KIP-1041
"""

import re
from typing import Final

_FORMAT: Final = (
    "removed in 4.0: brokers write batches of magic 2 only; since 3.0 ignored where "
    "inter.broker.protocol.version is 3.0 or later; leave it out"
)
_CONVERSION: Final = (
    "removed in 4.0: brokers no longer convert batches for older consumers; leave it out"
)
_HOST: Final = "removed in 3.0; use {}"
_QUOTA: Final = "removed in 3.0; set quotas with kafka-configs.sh"
_ID: Final = "removed in 4.0: ZooKeeper gave these ids; use node.id"
_SHUTDOWN: Final = "removed in 4.0: a broker now asks in its heartbeats to shut down; leave it out"

REMOVED: Final = {
    "message.format.version": _FORMAT,
    "log.message.format.version": _FORMAT,
    "message.timestamp.difference.max.ms": (
        "removed in 4.0, deprecated since 3.6; use message.timestamp.before.max.ms and "
        "message.timestamp.after.max.ms"
    ),
    "log.message.timestamp.difference.max.ms": (
        "removed in 4.0, deprecated since 3.6; use log.message.timestamp.before.max.ms and "
        "log.message.timestamp.after.max.ms"
    ),
    "message.downconversion.enable": _CONVERSION,
    "log.message.downconversion.enable": _CONVERSION,
    "inter.broker.protocol.version": (
        "removed in 4.0: a cluster has a metadata.version; set it with kafka-features.sh"
    ),
    "control.plane.listener.name": "removed in 4.0; use controller.listener.names",
    "broker.id.generation.enable": _ID,
    "reserved.broker.max.id": _ID,
    "controlled.shutdown.max.retries": _SHUTDOWN,
    "controlled.shutdown.retry.backoff.ms": _SHUTDOWN,
    "leader.imbalance.per.broker.percentage": (
        "removed in 4.0: KRaft's controller elects preferred leaders whatever their share; "
        "leave it out"
    ),
    "delegation.token.master.key": "removed in 4.0; use delegation.token.secret.key",
    "offsets.commit.required.acks": (
        "removed in 4.0: offsets are committed when all in-sync replicas have them; leave it out"
    ),
    "auto.include.jmx.reporter": "removed in 4.0; use metric.reporters",
    "host.name": _HOST.format("listeners"),
    "port": _HOST.format("listeners"),
    "advertised.host.name": _HOST.format("advertised.listeners"),
    "advertised.port": _HOST.format("advertised.listeners"),
    "quota.producer.default": _QUOTA,
    "quota.consumer.default": _QUOTA,
    "replica.lag.max.messages": "removed in 0.9; use replica.lag.time.max.ms",
}
"""Name → version and replacement."""

_PREFIXES: Final = {
    "zookeeper.": "removed in 4.0, which has no ZooKeeper; leave it out",
    "password.encoder.": "removed in 4.0: it protected passwords in ZooKeeper; leave it out",
}


def why_removed(name: str) -> str | None:
    """Return when a configuration was removed and what to use instead; None if it never existed."""
    if name in REMOVED:
        return REMOVED[name]
    return next((why for prefix, why in _PREFIXES.items() if name.startswith(prefix)), None)


def removed_in(name: str) -> str | None:
    """Return the first version without a configuration; None if it never existed, or exists."""
    found = re.match(r"removed in (\d+(?:\.\d+)+)", why_removed(name) or "")
    return None if found is None else found[1]
