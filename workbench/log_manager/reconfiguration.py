"""Change the configuration of logs that are in use.

The lock of the registry is held meanwhile, as it is while a log is made: so a log gets either the
new configuration when it is made, or the change after it.

Kafka: LogManager.updateTopicConfig, reconfigureDefaultLogConfig (4.2)
"""

from collections.abc import Mapping
from typing import Any

from workbench.log.config import LogConfig
from workbench.log.log import Log
from workbench.log_manager.context import ManagerContext


def reconfigure_topic(context: ManagerContext, topic: str, config: Mapping[str, Any]) -> None:
    """Replace what a topic has of its own.

    Raises:
        ConfigError: a name or value is wrong; nothing is changed.

    Kafka: LogManager.updateTopicConfig (4.2)
    """
    with context.registry.lock:
        LogConfig.of(config, defaults=context.defaults)
        context.topic_configs[topic] = dict(config)
        for log in context.registry.of_topic(topic):
            _update(context, log)


def reconfigure_defaults(context: ManagerContext, defaults: LogConfig) -> None:
    """Replace the configuration that topics have unless theirs says otherwise.

    Raises:
        ConfigError: what a topic has of its own does not go with it; some logs may have changed.

    Kafka: DynamicLogConfig.reconfigure (4.2)
    """
    with context.registry.lock:
        context.defaults = defaults
        for log in context.registry:
            _update(context, log)


def apply_newer_config(context: ManagerContext, log: Log) -> None:
    """Give a log that was just loaded what was changed meanwhile.

    Kafka: LogManager.finishedInitializingLog (4.2)
    """
    with context.registry.lock:
        _update(context, log)


def _update(context: ManagerContext, log: Log) -> None:
    new = context.config_of(log.topic_partition.topic)
    old = log.config
    if new == old:
        return
    log.update_config(new)
    context.tell("config changed", log.topic_partition)
    if context.cleaning is not None and old.compact and not new.compact:
        context.cleaning.abort_cleaning(log.topic_partition)
