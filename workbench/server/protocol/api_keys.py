"""Every kind of request that the server answers, by its key.

Kafka: ApiKeys (4.0)
"""

from collections.abc import Mapping
from typing import Any, Final

from workbench.server.protocol import (
    admin_messages,
    cluster_messages,
    group_messages,
    log_messages,
    sasl_messages,
    transaction_messages,
    write_messages,
)
from workbench.server.protocol.api import Api


def _declared(module: Any) -> list[Api]:
    return [value for value in vars(module).values() if isinstance(value, Api)]


API_KEYS: Final[Mapping[int, Api]] = {
    each.key: each
    for module in (
        admin_messages,
        cluster_messages,
        log_messages,
        group_messages,
        transaction_messages,
        write_messages,
        sasl_messages,
    )
    for each in _declared(module)
}
