"""Requests that would write: refused as by a broker that gives the client no right to.

Kafka: KafkaApis, where an authorizer denies the operation (4.0)
"""

from collections.abc import Mapping
from typing import Any, Final

from workbench.runtime.error_codes import ErrorCode
from workbench.server.handlers.config_requests import TOPIC
from workbench.server.handlers.error_responses import error_response
from workbench.server.protocol import api_keys as apis
from workbench.server.serving import BlockingHandler, Call, Values

_OF_TRANSACTION: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_CODES: Final[Mapping[int, ErrorCode]] = {
    apis.PRODUCE.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    apis.CREATE_TOPICS.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    apis.DELETE_TOPICS.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    apis.DELETE_RECORDS.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    apis.INIT_PRODUCER_ID.key: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    apis.ADD_PARTITIONS_TO_TXN.key: _OF_TRANSACTION,
    apis.ADD_OFFSETS_TO_TXN.key: _OF_TRANSACTION,
    apis.END_TXN.key: _OF_TRANSACTION,
    apis.TXN_OFFSET_COMMIT.key: _OF_TRANSACTION,
    apis.WRITE_TXN_MARKERS.key: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    apis.ALTER_CONFIGS.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    apis.CREATE_PARTITIONS.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    apis.DELETE_GROUPS.key: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    apis.INCREMENTAL_ALTER_CONFIGS.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    apis.OFFSET_DELETE.key: ErrorCode.GROUP_AUTHORIZATION_FAILED,
}
_WHY: Final = "This server is read-only; kafka-workbench serve --writable takes writes, on a copy."
_OF_RESOURCES: Final = frozenset({apis.ALTER_CONFIGS.key, apis.INCREMENTAL_ALTER_CONFIGS.key})


def refuse(call: Call, request: Any) -> Values:
    """Return the response of a broker that gives no right to write."""
    key = call.request.api.key
    code = _CODES[key]
    if key == apis.INIT_PRODUCER_ID.key and request["transactionalId"] is not None:
        code = _OF_TRANSACTION
    response = error_response(call.request, code, _WHY)
    if key in _OF_RESOURCES:
        for each in response["responses"]:
            if each["resourceType"] != TOPIC:
                each["errorCode"] = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return response


HANDLERS: Final[Mapping[int, BlockingHandler]] = dict.fromkeys(_CODES, refuse)
