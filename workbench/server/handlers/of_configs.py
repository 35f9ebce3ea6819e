"""The configuration of topics and of the broker, as far as it is known.

The directory has what the cluster's metadata sets. What a broker's own file sets is not in it.

Kafka: KafkaApis.handleDescribeConfigsRequest, ConfigHelper (4.2)
"""

from collections.abc import Mapping
from typing import Any, Final

from workbench.config.definitions import TOPIC_DEFINITIONS
from workbench.config.log_config import ConfigRow
from workbench.runtime.error_codes import ErrorCode
from workbench.server.logs.catalog import TopicCatalog
from workbench.server.protocol.cluster_messages import DESCRIBE_CONFIGS
from workbench.server.serving import BlockingHandler, Call, Values

_TOPIC, _BROKER = 2, 4  # resource types
_OF_TOPIC, _OF_BROKER, _OF_EVERY_BROKER, _OF_FILE, _DEFAULT = 1, 2, 3, 4, 5  # sources
INTERNAL: Final = "internal."  # begins the names of configurations that no client sees
_KINDS: Final = {
    "boolean": 1, "string": 2, "int": 3, "short": 4, "long": 5, "double": 6, "list": 7,
}  # fmt: skip
_TYPES: Final = {one.name: _KINDS[one.kind] for one in TOPIC_DEFINITIONS}
_UNKNOWN_TYPE: Final = 0


def describe_configs(call: Call) -> Values:
    """Return the configurations of topics, and what the metadata sets for the broker."""
    return {"results": [_configs(call, each) for each in call.values["resources"]]}


def _configs(call: Call, resource: Values) -> Values:
    catalog = call.serving.catalog
    kind, name = resource["resourceType"], resource["resourceName"]
    result: Values = {"resourceType": kind, "resourceName": name, "configs": []}
    result["errorMessage"] = ""
    if kind == _TOPIC:
        if name not in catalog.topics:
            return {**result, "errorCode": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        own = catalog.settings.own(name)
        explains = call.values.get("includeDocumentation")
        found = [
            _config(row.name, row.value, _source(catalog, row, own), row.doc if explains else None)
            for row in catalog.settings.config_of(name).describe()
            if not row.name.startswith(INTERNAL)
        ]
    elif kind == _BROKER:
        stored = sorted(catalog.broker_configs.items())
        found = [_config(each, value, _dynamic_source(catalog, each)) for each, value in stored]
    else:
        return {**result, "errorCode": ErrorCode.INVALID_REQUEST}
    is_fixed = call.serving.broker is None or kind == _BROKER
    keys = resource["configurationKeys"]
    result["configs"] = [
        {**each, "readOnly": is_fixed} for each in found if not keys or each["name"] in keys
    ]
    return result


def _source(catalog: TopicCatalog, row: ConfigRow, own: Mapping[str, Any]) -> int:
    if row.name in own:
        return _OF_TOPIC
    if row.origin in catalog.broker_configs:
        return _dynamic_source(catalog, row.origin)
    return _DEFAULT if row.origin == "default" else _OF_FILE


def _dynamic_source(catalog: TopicCatalog, name: str) -> int:
    return _OF_EVERY_BROKER if name in catalog.default_broker_configs else _OF_BROKER


def config_text(value: Any) -> str | None:
    """Return a configuration's value as Kafka writes it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def _config(name: str, value: Any, source: int, doc: str | None = None) -> Values:
    return {
        "name": name,
        "value": config_text(value),
        "isDefault": source == _DEFAULT,
        "configSource": source,
        "synonyms": [],
        "configType": _TYPES.get(name, _UNKNOWN_TYPE),
        "documentation": doc,
    }


HANDLERS: Final[Mapping[int, BlockingHandler]] = {DESCRIBE_CONFIGS.key: describe_configs}
