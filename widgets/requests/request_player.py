"""RequestPlayer: one request from the socket to the segment and back."""

from typing import Any

import traitlets

from widgets._assets import script, style
from widgets.players._player import Player, find_partition, poster_of
from widgets.requests.request_rows import request_name, request_summary
from widgets.requests.story_rows import (
    flow_rows,
    frame_columns,
    story_rows,
    story_scenes,
    story_touches,
)
from widgets.view.players.steps import Scene, Touch, kind_rows, segment_columns
from widgets.view.records import Lens
from workbench.errors import PlayerError
from workbench.runtime.steps import KINDS
from workbench.server.watching.request_steps import REQUEST_KINDS, RequestStory, tell_request
from workbench.server.watching.watch import WatchedRequest


class RequestPlayer(Player):
    """Step through one request: its bytes, the handler, the log, the response.

    Every byte of both sides has its name. The steps in the log are the engine's, which does the
    same read or lookup once more on a dry copy of one partition.

    Attributes:
        at: the index of the step shown; -1 without steps.
        steps: the steps to play.
        request: the request; None: none yet.
        partition: the partition whose log is shown; set it to another that the request names.
        story: the named bytes and the steps.

    Args:
        request: one of `Server.watch`.
        partition: by default the first that returned records.
        at: the first step to show; by default the one that shows the most of the log.
        show_values: whether to show records and other data of users. Otherwise their bytes do not
            leave the kernel.

    Raises:
        LookupError: the request does not name the partition.
        PlayerError: ``request`` is not a request.

    Kafka: KafkaApis.handle, ReplicaManager.readFromLog, UnifiedLog.read (4.0)
    """

    _esm = script("requests/request_player.js")
    _css = style("players/player.css", "requests/requests.css")

    partition = traitlets.Unicode().tag(sync=True)
    _partitions: Any = traitlets.List().tag(sync=True)
    _frames: Any = traitlets.Dict().tag(sync=True)
    _flow: Any = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        request: WatchedRequest | None = None,
        partition: str | None = None,
        *,
        at: int | None = None,
        show_values: bool = False,
        **options: Any,
    ) -> None:
        """Show a request; see the class."""
        self.request: WatchedRequest | None = None
        self.story: RequestStory | None = None
        self.scenes: tuple[Scene, ...] = ()
        self.touches: tuple[Touch, ...] = ()
        self.lens = Lens(show_values=show_values)
        super().__init__(_title="No request", **options)
        if request is not None:
            self.show(request, partition, at=at)

    def show(self, request: Any, partition: str | None = None, *, at: int | None = None) -> None:
        """Play another request, or the same one with another partition.

        Args:
            request: the `WatchedRequest`.
            partition: the partition to look into; None: the first that returned records.
            at: the step to show; by default as in the class.

        Raises:
            LookupError: the request does not name the partition.
            PlayerError: ``request`` is not a request.
        """
        if not isinstance(request, WatchedRequest):
            name = type(request).__name__
            raise PlayerError(f"{name}: expected one of the requests in Server.watch()")
        story = tell_request(request, partition)
        scenes: tuple[Scene, ...] = ()
        if story.path is not None:
            scenes = story_scenes(find_partition(story.path, type(self).__name__), story.steps)
        self.request, self.story, self.scenes = request, story, scenes
        self.touches = story_touches(story.steps, scenes)
        self.steps = tuple(each.step for each in story.steps)
        self._picture = None
        used = {touch.segment for touch in self.touches if touch.position >= 0}
        with self.hold_sync():
            self._title = request_name(request)
            self._about = request_summary(request)
            self._partitions = list(dict.fromkeys(story.partitions))
            self.partition = story.partition or ""
            self._flow = flow_rows(request)
            self._frames = {
                "request": frame_columns(story.request, self.lens),
                "response": frame_columns(story.response, self.lens),
            }
            self._played = {
                "left_out": 0,
                "kinds": kind_rows(self.steps, KINDS | REQUEST_KINDS),
                "steps": story_rows(story.steps, self.touches),
                "segments": segment_columns(scenes, used),
            }
            self.at = poster_of(self.steps) if at is None else at

    @traitlets.observe("partition")
    def _look_into(self, _change: Any) -> None:
        """Show the log of another partition."""
        story, request = self.story, self.request
        if request is None or story is None or self.partition in {"", story.partition}:
            return
        try:
            self.show(request, str(self.partition))
        except LookupError:
            self.partition = story.partition or ""
            raise

    def inputs(self) -> list[str]:
        """Return the log directories that are served."""
        return [] if self.request is None else self.request.catalog.directories

    def to_png(self) -> bytes:
        """Draw the step shown: the bytes of its frame, or the segment. Imports matplotlib."""
        if self._picture is None:
            from widgets.requests.request_picture import story_picture

            self._picture = story_picture(self)
        return self._picture
