"""The configurations of topics, brokers, groups and metrics subscriptions, as far as known.

The directory has what the cluster's metadata sets. What a broker's own file sets is not in it.

Kafka: KafkaApis.handleDescribeConfigsRequest, ConfigHelper (4.2)
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from workbench.config.broker_names import DYNAMIC_NAMES
from workbench.config.definitions import TOPIC_NAMES
from workbench.config.log_config import DescribedConfig
from workbench.config.server_configs import (
    BROKER_CONFIGS,
    GROUP_CONFIGS,
    METRICS_CONFIGS,
    ServerConfig,
    synonyms_of,
)
from workbench.config.values import text_of
from workbench.errors import CoordinatorError
from workbench.inspection.cluster.image import EVERY_BROKER
from workbench.runtime.error_codes import ErrorCode
from workbench.server.logs.catalog import require_topic_name
from workbench.server.protocol import requests, responses
from workbench.server.protocol.api_keys import DESCRIBE_CONFIGS
from workbench.server.serving import Call, Served

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32  # resource types
OF_TOPIC, _OF_BROKER, _OF_EVERY_BROKER, _OF_FILE, DEFAULT = 1, 2, 3, 4, 5  # sources
_OF_METRICS, _OF_GROUP = 7, 8
INTERNAL: Final = "internal."  # begins the names of configurations that are shown only if set
_SIZE: Final = "segment.bytes"
_INTERNAL_SIZE: Final = INTERNAL + _SIZE
MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details."
)
_Entry = responses.DescribeConfigsResponseResourceResult
_TYPES: Final = {
    "boolean": 1, "string": 2, "int": 3, "short": 4, "long": 5, "double": 6, "list": 7, "class": 8,
    "password": 9,
}  # fmt: skip
_UNKNOWN: Final = ServerConfig("password", None, "")  # of a plugin: its value is never shown
_UNKNOWN_TYPE: Final = 0


class _Synonym(NamedTuple):
    """A name of a configuration, its value there, and where that is set."""

    name: str
    value: str | None
    source: int


def describe_configs(
    call: Call, request: requests.DescribeConfigsRequestData
) -> responses.DescribeConfigsResponseData:
    """Return configurations, with where each value is set."""
    named = {(each["resourceType"], each["resourceName"]): each for each in request["resources"]}
    resources = list(named.values())
    if all(each["resourceType"] in _DESCRIBE for each in resources):
        return {"results": [_result(call, each, request) for each in resources]}
    return {
        "results": [
            {
                "errorCode": ErrorCode.INVALID_REQUEST,
                "errorMessage": MALFORMED,
                "resourceType": each["resourceType"],
                "resourceName": each["resourceName"],
            }
            for each in request["resources"]
        ]
    }


def _result(
    call: Call,
    resource: requests.DescribeConfigsRequestResource,
    request: requests.DescribeConfigsRequestData,
) -> responses.DescribeConfigsResponseResult:
    kind, name = resource["resourceType"], resource["resourceName"]
    call.budget.charge(1, len(name))
    result: responses.DescribeConfigsResponseResult = {
        "resourceType": kind, "resourceName": name, "configs": []
    }  # fmt: skip
    try:
        found = _DESCRIBE[kind](call, name)
        call.budget.charge(2 * len(found))  # with their synonyms
    except CoordinatorError as error:
        return {**result, "errorCode": error.code, "errorMessage": error.problem}
    keys = resource["configurationKeys"]
    configs = [each for each in found if not keys or each["name"] in keys]
    for each in configs:
        if not request.get("includeSynonyms"):
            each["synonyms"] = []
        if not request.get("includeDocumentation"):
            each["documentation"] = None
    return {**result, "errorCode": ErrorCode.NONE, "errorMessage": "", "configs": configs}


def _entry(name: str, config: ServerConfig, value: str | None, synonyms: list[_Synonym]) -> _Entry:
    source = synonyms[0].source if synonyms else DEFAULT
    is_sensitive = config.kind == "password"
    return {
        "name": name,
        "value": None if is_sensitive else value,
        "readOnly": False,
        "isDefault": source == DEFAULT,
        "configSource": source,
        "isSensitive": is_sensitive,
        "synonyms": [
            {
                "name": each.name,
                "value": None if is_sensitive else each.value,
                "source": each.source,
            }
            for each in synonyms
        ],
        "configType": _UNKNOWN_TYPE if config is _UNKNOWN else _TYPES[config.kind],
        "documentation": config.doc,
    }


# topics


def _of_topic(call: Call, name: str) -> list[_Entry]:
    catalog = call.serving.catalog
    require_topic_name(name)
    if catalog.logs_of(name) is None:
        raise ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.error("")
    own = catalog.settings.own(name)
    sources = _Sources(call)
    rows = catalog.settings.config_of(name).describe()
    if _INTERNAL_SIZE in own:  # which is the size in effect
        size = own.get(_SIZE, catalog.settings.broker.topic_defaults().segment_bytes)
        rows = [each._replace(value=size) if each.name == _SIZE else each for each in rows]
    return [
        _topic_entry(row, sources, is_own=row.name in own)
        for row in rows
        if row.name in own or not row.name.startswith(INTERNAL)
    ]


def _topic_entry(row: DescribedConfig, sources: "_Sources", *, is_own: bool) -> _Entry:
    definition, value = TOPIC_NAMES[row.name], text_of(row.value)
    synonyms = [_Synonym(row.name, value, OF_TOPIC)] if is_own else []
    if definition.synonyms:
        synonyms += sources.of(definition.synonyms[0].name)
    return _entry(row.name, ServerConfig(definition.kind, None, row.doc), value, synonyms)


# brokers


class _Sources:
    """Where a broker's configurations are set: the first source that has a name decides."""

    def __init__(self, call: Call) -> None:
        catalog = call.serving.catalog
        host, port = call.address
        node, stored = str(catalog.node_id), catalog.stored_configs.brokers
        listener = f"PLAINTEXT://{host}:{port}"
        static = {
            "node.id": node,
            "broker.id": node,
            "listeners": listener,
            "advertised.listeners": listener,
            "log.dirs": ",".join(catalog.directories),
            **catalog.static_configs,
        }
        defaults = {name: each.default for name, each in BROKER_CONFIGS.items()}
        self.sources: tuple[tuple[int, Mapping[str, str | None]], ...] = (
            (_OF_BROKER, stored.get(node, {})),
            (_OF_EVERY_BROKER, stored.get(EVERY_BROKER, {})),
            (_OF_FILE, static),
            (DEFAULT, defaults),
        )

    def of(self, name: str) -> list[_Synonym]:
        """Return the values of a configuration, the one that is in use first.

        Kafka: ConfigHelper.configSynonyms (4.2)
        """
        found = [
            _Synonym(each, value, source)
            for source, values in self.sources
            for each in synonyms_of(name)
            if (value := values.get(each)) is not None
        ]
        first = next((at for at, each in enumerate(found) if each.name == name), len(found))
        return found[first:]

    @property
    def names(self) -> Iterator[str]:
        """Every name that is set, or could be."""
        return iter(sorted({name for _, values in self.sources for name in values}))


def _of_broker(call: Call, name: str) -> list[_Entry]:
    sources = _Sources(call)
    if not name:
        every = dict(sources.sources)[_OF_EVERY_BROKER]
        return [
            _broker_entry(each, [_Synonym(each, value, _OF_EVERY_BROKER)])
            for each, value in sorted(every.items())
        ]
    _check_node(call, name, "expected {} or empty string, but received {}")
    return [_broker_entry(each, sources.of(each)) for each in sources.names]


def _broker_entry(name: str, synonyms: list[_Synonym]) -> _Entry:
    config = BROKER_CONFIGS.get(name, _UNKNOWN)
    value = synonyms[0].value if synonyms else None
    return {**_entry(name, config, value, synonyms), "readOnly": name not in DYNAMIC_NAMES}


def _check_node(call: Call, name: str, problem: str) -> None:
    """Kafka: ConfigHelper.resourceNameToBrokerId (4.2)."""
    node = call.serving.catalog.node_id
    try:
        number = int(name)
    except ValueError:
        raise ErrorCode.INVALID_REQUEST.error(
            f"Broker id must be an integer, but it is: {name}"
        ) from None
    if number != node:
        raise ErrorCode.INVALID_REQUEST.error(f"Unexpected broker id, {problem.format(node, name)}")


def _of_logger(call: Call, name: str) -> list[_Entry]:
    if not name:
        raise ErrorCode.INVALID_REQUEST.error("Broker id must not be empty")
    _check_node(call, name, "expected {} but received {}")
    raise ErrorCode.INVALID_REQUEST.error("This server has no loggers of a broker.")


# groups, and metrics of clients


def _of_group(call: Call, name: str) -> list[_Entry]:
    if not name:
        raise ErrorCode.INVALID_REQUEST.error("Group name must not be empty")
    own = call.serving.catalog.stored_configs.groups.get(name, {})
    sources = _Sources(call)
    entries = []
    for each, config in GROUP_CONFIGS.items():
        of_brokers = sources.of(f"group.{each}")
        default = of_brokers[0].value if of_brokers else config.default
        source, value = (_OF_GROUP, own[each]) if each in own else (DEFAULT, default)
        entries.append(_entry(each, config, value, [_Synonym(each, value, source)]))
    return entries


def _of_metrics(call: Call, name: str) -> list[_Entry]:
    if not name:
        raise ErrorCode.INVALID_REQUEST.error("Client metrics subscription name must not be empty")
    own = call.serving.catalog.stored_configs.client_metrics.get(name, {})
    return [
        _entry(each, config, own[each], [_Synonym(each, own[each], _OF_METRICS)])
        if each in own
        else _entry(each, config, config.default, [])
        for each, config in METRICS_CONFIGS.items()
    ]


_DESCRIBE: Final[Mapping[int, Callable[[Call, str], list[_Entry]]]] = {
    TOPIC: _of_topic,
    BROKER: _of_broker,
    BROKER_LOGGER: _of_logger,
    CLIENT_METRICS: _of_metrics,
    GROUP: _of_group,
}


HANDLERS: Final[Mapping[int, Served]] = {
    DESCRIBE_CONFIGS.key: Served(describe_configs),
}
