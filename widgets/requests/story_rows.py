"""The way of a request as a player gets it: steps with what they touch, frames, stages, times."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from widgets.view.bytes import byte_window, places
from widgets.view.players.steps import NOWHERE, Scene, Touch, place, role_of, scene_of, step_rows
from widgets.view.records import Lens
from workbench.loaders.partition import Partition
from workbench.server.watching.frame_fields import NamedFrame
from workbench.server.watching.request_steps import REQUEST_KINDS, PlacedStep
from workbench.server.watching.watch import WatchedRequest

PRIVATE: Final = frozenset({"records", "metadata", "committedMetadata", "authBytes", "assignment"})
"""Fields with users' data: their bytes do not leave the kernel unless values are shown."""

ROLES: Final = {
    "request received": "received",
    "header read": "received",
    "handler called": "called",
    "partition asked": "called",
    "log failed": "invalid",
    "partition answered": "answered",
    "request waited": "waited",
    "response sent": "sent",
    "request refused": "invalid",
}
"""How the steps that are not the engine's look."""

_NOTHING: Final = np.zeros(0, np.int64)


def story_scenes(partition: Partition, placed: Sequence[PlacedStep]) -> tuple[Scene, ...]:
    """Return the segments of a partition; the batches only of those that a step names.

    Raises:
        OSError: a segment cannot be read.
    """
    named = {each.step.where for each in placed}
    scenes = []
    for segment in partition.segments:
        if named & {entry.path for entry in segment.files.values()}:
            scenes.append(scene_of(segment))
        else:
            rows = scene_rows_of_nothing()
            scenes.append(Scene(segment.base_offset, segment.size, rows, _NOTHING, _NOTHING))
    return tuple(scenes)


def scene_rows_of_nothing() -> Any:
    """Return the rows of a segment whose batches are not read."""
    names = ("position", "size", "base_offset", "last_offset")
    return np.zeros(0, [(name, np.int64) for name in names])


def story_touches(placed: Sequence[PlacedStep], scenes: Sequence[Scene]) -> tuple[Touch, ...]:
    """Return what each step touches of the segments."""
    return tuple(
        NOWHERE if each.step.kind in REQUEST_KINDS else place(each.step, scenes) for each in placed
    )


def story_rows(placed: Sequence[PlacedStep], touches: Sequence[Touch]) -> list[list[Any]]:
    """Return a row for each step as of `step_rows`, then the bytes: side, start and size."""
    rows = step_rows([each.step for each in placed], touches)
    for row, each, touch in zip(rows, placed, touches, strict=True):
        row[4] = ROLES.get(each.step.kind) or role_of(each.step, touch)
        found = each.place
        row.append(None if found is None else [found.side, found.start, found.end - found.start])
    return rows


def frame_columns(frame: NamedFrame, lens: Lens) -> dict[str, Any]:
    """Return one side of the exchange as the bytes view shows it."""
    content, (data,) = byte_window(frame.data, places(frame.fields, 0), 0, lens, private=PRIVATE)
    return content | {"data": data, "size": len(frame.data), "full_size": frame.full_size}


def flow_rows(request: WatchedRequest) -> dict[str, Any]:
    """Return sizes and times of a request, for the row of its stages."""
    done = request.done
    return {
        "request_bytes": done.request_bytes,
        "response_bytes": done.response_bytes,
        "times": [
            done.request_queue_time_ms,
            done.local_time_ms,
            done.remote_time_ms,
            done.response_send_time_ms,
        ],
        "total": done.total_time_ms,
    }
