"""One piece of work that can be watched, canceled and waited for, in this thread or in its own."""

import threading
from contextlib import suppress
from typing import Literal

Status = Literal["ready", "running", "done", "canceled", "failed"]


class CanceledError(Exception):
    """Ends the work of a job that was canceled."""


class Job:
    """Work that runs in this thread (`run`) or in its own (`start`); a subclass says what it does.

    Attributes:
        status: "ready", "running", "done", "canceled" or "failed".
        error: what ended it, if it failed.

    Args:
        name: of its thread.
    """

    def __init__(self, name: str) -> None:
        self.status: Status = "ready"
        self.error: BaseException | None = None
        self._name = name
        self._is_canceled = False
        self._over = threading.Event()

    @property
    def is_canceled(self) -> bool:
        """Whether it was asked to end; it may still be about to."""
        return self._is_canceled

    @property
    def is_over(self) -> bool:
        """Whether it does nothing more."""
        return self.status not in {"ready", "running"}

    def start(self) -> None:
        """Run in a thread of its own; ``error`` has what it raises."""
        self.status = "running"
        self._over.clear()
        threading.Thread(target=self._run_quietly, name=self._name, daemon=True).start()

    def cancel(self) -> None:
        """Let it end soon."""
        self._is_canceled = True

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is over, or so much time has passed; return whether it is over."""
        return self._over.wait(seconds)

    def run(self) -> None:
        """Run to the end, or until `cancel`; what the work raises is raised."""
        self.status = "running"
        over: Status = "failed"
        try:
            self._work()
            over = "done"
        except CanceledError:
            over = "canceled"
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.status = over
            try:
                self._end()
            finally:
                self._over.set()

    def _run_quietly(self) -> None:
        with suppress(Exception):  # a thread has no caller to raise to
            self.run()

    def _work(self) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        """Do what follows the last change of the status, before waiting callers continue."""

    def _go_on(self) -> None:
        """End the work if it was canceled.

        Raises:
            CanceledError: it was.
        """
        if self._is_canceled:
            raise CanceledError
