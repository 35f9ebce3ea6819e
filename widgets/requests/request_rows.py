"""Requests as the rows of a table."""

from collections.abc import Sequence
from typing import Any

from workbench.runtime.times import duration_text
from workbench.runtime.words import size_text
from workbench.server.watching.watch import WatchedRequest

_MOST_NAMES = 3


def request_name(request: WatchedRequest) -> str:
    """Return kind, version and client: ``Fetch v17 from 127.0.0.1:40123``."""
    done = request.done
    what = "A request" if done.api is None else f"{done.api} v{done.version}"
    return f"{what} from {done.client}"


def request_subject(request: WatchedRequest) -> str:
    """Return the topics of a request, or its group: ``orders, payments and 3 more``."""
    names = [*request.topics, *([request.group] if request.group else [])]
    shown = ", ".join(names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"


def request_summary(request: WatchedRequest) -> str:
    """Return subject, sizes, time and outcome in a line."""
    done = request.done
    parts = [
        request_subject(request),
        f"{size_text(done.request_bytes)} in, {size_text(done.response_bytes)} out",
        duration_text(done.total_time_ms),
        done.problem or request.error,
    ]
    return " · ".join(part for part in parts if part)


def request_rows(requests: Sequence[WatchedRequest]) -> list[list[Any]]:
    """Return a row for each request.

    Returns:
        Lists of number, epoch ms, kind (None: unknown), version, client, client id, topics or
        group, bytes in, bytes out, ms in the queue, local, remote, send, total, and what went
        wrong.
    """
    rows = []
    for each in requests:
        done = each.done
        rows.append(
            [
                each.number,
                each.received_ms,
                done.api,
                done.version,
                done.client,
                done.client_id,
                request_subject(each),
                done.request_bytes,
                done.response_bytes,
                done.request_queue_time_ms,
                done.local_time_ms,
                done.remote_time_ms,
                done.response_send_time_ms,
                done.total_time_ms,
                done.problem or each.error,
            ]
        )
    return rows
