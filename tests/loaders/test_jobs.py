"""What every search, export, verification and comparison is: a job with one set of states."""

import threading

import pytest

from workbench.runtime.job import Job


class Counting(Job):
    """Counts until it may end, is canceled, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__("counting")
        self.began = threading.Event()
        self.may_end = threading.Event()
        self.ended: list[str] = []
        self._error = error

    def _work(self) -> None:
        self.began.set()
        while not self.may_end.wait(0.001):
            self._go_on()
        if self._error is not None:
            raise self._error

    def _end(self) -> None:
        self.ended.append(self.status)


def test_a_job_runs_in_its_own_thread_until_it_is_done() -> None:
    job = Counting()
    assert (job.status, job.is_over, job.wait(0)) == ("ready", False, False)
    job.start()
    assert job.began.wait(30)
    assert (job.status, job.is_over, job.wait(0)) == ("running", False, False)
    job.may_end.set()
    assert job.wait(30)
    assert (job.status, job.error, job.ended) == ("done", None, ["done"])


def test_a_job_ends_where_it_looks_after_it_was_canceled() -> None:
    job = Counting()
    job.start()
    job.cancel()
    assert job.wait(30)
    assert (job.status, job.error, job.ended) == ("canceled", None, ["canceled"])


def test_what_a_job_raises_is_raised_here_and_kept_from_a_thread() -> None:
    job = Counting(KeyError("planted"))
    job.may_end.set()
    with pytest.raises(KeyError, match="planted"):
        job.run()
    assert (job.status, repr(job.error), job.is_over) == ("failed", "KeyError('planted')", True)
    other = Counting(KeyError("planted"))
    other.may_end.set()
    other.start()
    assert other.wait(30)
    assert (other.status, repr(other.error)) == ("failed", "KeyError('planted')")
    assert other.ended == job.ended == ["failed"]
