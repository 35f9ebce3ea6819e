"""What widgets have in common that follow what a broker writes: a switch, and looks in a thread."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from datetime import UTC, datetime
from typing import Any

import traitlets

import workbench
from widgets._widget import KafkaWidget, error_text
from widgets.live.follower import Changes, Follower
from workbench.runtime.clock import SystemClock


class FollowsDirectories(KafkaWidget):
    """The base of widgets that follow live directories.

    Attributes:
        follow: whether what a broker writes is shown as it appears on the disk.
        follower: what looks at the directories; None if they were never followed.
        is_led: whether another widget looks for this one, and reports to it what it saw.
    """

    follow = traitlets.Bool(default_value=False).tag(sync=True)

    logs: workbench.LogDirectory
    follower: Follower | None = None
    is_led = False
    _loop: asyncio.AbstractEventLoop | None = None
    _since = ""

    @traitlets.observe("follow")
    def _begin_or_end(self, _change: Any) -> None:
        if self.follower is not None:
            self.follower.stop()
            self.follower = None
        if not self.follow:
            return
        if not self.is_led:
            try:
                self._loop = asyncio.get_running_loop()
            except RuntimeError:
                self._loop = None
            try:
                self.start_following()
            except ValueError:
                self.follow = False
                raise
        moment = datetime.fromtimestamp(SystemClock().now() / 1000, UTC)
        self._since = f"{moment:%H:%M:%S}"
        self.begin_following()

    def begin_following(self) -> None:
        """Show that what comes is followed from now on."""

    def start_following(self) -> None:
        """Look at the directories as they are listed now, and no more as they were before."""
        if self.follower is not None:
            self.follower.stop()
        self.follower = Follower(self.logs.listing, self._tell, self.looked_at_first)
        self.follower.start()

    def looked_at_first(self) -> str | None:
        """Return the name of the partition that each look includes; None: any."""
        return None

    def look(self) -> bool:
        """Look now, without waiting for the timer; return whether anything changed.

        Raises:
            ValueError: `follow` is not set.
        """
        if self.follower is None:
            raise ValueError("set follow first")
        changes = self.follower.look()
        self._take(changes)
        return bool(changes)

    def _tell(self, changes: Changes) -> bool:
        """Take changes in the thread of the kernel, where messages of the front end are taken."""
        follower, loop = self.follower, self._loop
        if loop is None or not loop.is_running():
            return self._take(changes)
        done: Future[bool] = Future()
        loop.call_soon_threadsafe(lambda: done.set_result(self._take(changes)))
        while True:
            try:
                return done.result(1.0)
            except FutureTimeout:
                if follower is not self.follower:
                    return False

    def _take(self, changes: Changes) -> bool:
        """Show changes; return whether something is left to be sent later."""
        self._guarded(lambda: self.show_changes(changes))
        return self.is_owed()

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except FileNotFoundError:
            return  # deleted between the look and now: the next look sees it
        except Exception as error:  # noqa: BLE001 - a timer has no caller to raise to
            self.last_error, self._error = error, f"following: {error_text(error)}"

    def is_owed(self) -> bool:
        """Return whether something is left to be shown after the next look."""
        return False

    def show_changes(self, changes: Changes) -> None:
        """Show what a look saw, which may be nothing."""
        raise NotImplementedError

    def close(self) -> None:
        """End the widget, and stop following."""
        if self.follower is not None:
            self.follower.stop()
        super().close()
