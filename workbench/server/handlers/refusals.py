"""Requests that would write: refused as by a broker that gives the client no right to.

Kafka: KafkaApis, where an authorizer denies the operation (4.0)
"""

from collections.abc import Mapping
from typing import Final

from workbench.runtime.error_codes import ErrorCode
from workbench.server.handlers.error_responses import error_response
from workbench.server.protocol import transaction_messages
from workbench.server.protocol import write_messages as messages
from workbench.server.serving import BlockingHandler, Call, Values

_OF_TRANSACTION: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_CODES: Final[Mapping[int, ErrorCode]] = {
    messages.PRODUCE.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    messages.CREATE_TOPICS.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    messages.DELETE_TOPICS.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    messages.DELETE_RECORDS.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    transaction_messages.INIT_PRODUCER_ID.key: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    transaction_messages.ADD_PARTITIONS_TO_TXN.key: _OF_TRANSACTION,
    transaction_messages.ADD_OFFSETS_TO_TXN.key: _OF_TRANSACTION,
    transaction_messages.END_TXN.key: _OF_TRANSACTION,
    transaction_messages.TXN_OFFSET_COMMIT.key: _OF_TRANSACTION,
    transaction_messages.WRITE_TXN_MARKERS.key: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    messages.ALTER_CONFIGS.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    messages.CREATE_PARTITIONS.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    messages.DELETE_GROUPS.key: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    messages.INCREMENTAL_ALTER_CONFIGS.key: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    messages.OFFSET_DELETE.key: ErrorCode.GROUP_AUTHORIZATION_FAILED,
}


def refuse(call: Call) -> Values:
    """Return the response of a broker that gives no right to write."""
    key = call.request.api.key
    code = _CODES[key]
    if (
        key == transaction_messages.INIT_PRODUCER_ID.key
        and call.values["transactionalId"] is not None
    ):
        code = _OF_TRANSACTION
    return error_response(call.request, code)


HANDLERS: Final[Mapping[int, BlockingHandler]] = dict.fromkeys(_CODES, refuse)
