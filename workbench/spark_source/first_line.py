"""What is wrong with a ``load`` stands in the first line of Spark's error."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

from workbench.errors import WorkbenchError

_Class = TypeVar("_Class", bound=type)

_ASKED_ON_THE_DRIVER: Final = (
    "schema", "reader", "streamReader", "writer", "streamWriter", "partitions", "initialOffset",
)  # fmt: skip


def tells_first(source: _Class) -> _Class:
    """Let Spark print the errors of the methods that it calls to plan without our traceback.

    Spark asks in a process of its own, which ends with the error, so that nothing else is hidden.

    Spark: pyspark.util.handle_worker_exception (4.2)
    """
    for name in _ASKED_ON_THE_DRIVER:
        if name in source.__dict__:
            setattr(source, name, _telling_first(source.__dict__[name]))
    return source


def _telling_first(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def telling(*given: Any, **named: Any) -> Any:
        try:
            return method(*given, **named)
        except (ValueError, LookupError, WorkbenchError):
            if _is_spark_process():
                os.environ["SPARK_HIDE_TRACEBACK"] = "1"
            raise

    return telling


def _is_spark_process() -> bool:
    """Return whether Spark started this process to ask a source."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec is not None and spec.name.startswith("pyspark.")
