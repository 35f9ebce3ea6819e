"""Clients and followers of one broker in threads of their own: nothing hangs, nothing is lost."""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from tests.replication.house import ME, ORDERS, OTHER, PAYMENTS, THIRD, ReplicaHouse, batch
from workbench.files.names import TopicPartition
from workbench.replication.messages import FetchParams, FetchPartition
from workbench.runtime.error_codes import ErrorCode

RECORDS, PRODUCERS, PATIENCE_S = 150, 2, 180
TOTAL = RECORDS * PRODUCERS
NAMES = (ORDERS, PAYMENTS)


class Server(ReplicaHouse):
    """A broker whose controller agrees at once, and whose answers wake those that wait for them."""

    def __init__(self) -> None:
        self.waiting: dict[Any, threading.Event] = {}
        self.is_over = threading.Event()
        self.nobody_asks = threading.Event()
        self.counter = itertools.count()
        super().__init__(min_isr=2)

    def submit(self, partition: Any, request: Any) -> None:
        """Make the change."""
        state = self.state(ME, request.leader_epoch, request.new_isr, request.partition_epoch + 1)
        partition.handle_alter_partition(request, state)

    def respond(self, reply_to: Any, answer: Any) -> None:
        """Wake the caller."""
        super().respond(reply_to, answer)
        self.waiting[reply_to].set()

    def ask(self, call: Callable[[int], None]) -> Any:
        """Make a call that takes where its answer goes; return the answer when it comes."""
        number = next(self.counter)
        done = self.waiting[number] = threading.Event()
        call(number)
        assert done.wait(PATIENCE_S), "no answer"
        return self.answers.pop(number)

    def produce_all(self) -> list[ErrorCode]:
        """Send records with acks=all, one after the other; return the errors."""
        errors: list[ErrorCode] = []
        for _ in range(RECORDS):
            records = {name: batch() for name in NAMES}
            send = partial(self.manager.append_records, records, -1)
            errors += [response.error for response in self.ask(send).values()]
        return errors

    def fetch_all(self, replica: int) -> dict[TopicPartition, int]:
        """Fetch until all is over; return the log end offsets of the follower."""
        at = dict.fromkeys(NAMES, 0)
        while min(at.values()) < TOTAL or not self.is_over.is_set():
            fetches = {name: FetchPartition(at[name], 0, 1 << 20, 0) for name in NAMES}
            answers = self.ask(partial(self.manager.fetch_messages, FetchParams(replica), fetches))
            for name, found in answers.items():
                assert found.error is ErrorCode.NONE
                if found.size:
                    at[name] = int(found.records.batches().rows["last_offset"][-1]) + 1
        return at

    def expire(self) -> None:
        """Let time pass until all is over, then let all waits end until nobody asks any more."""
        while not self.is_over.wait(0.001):
            self.clock.advance(1)
            self.manager.expire_delayed()
            self.manager.maybe_shrink_isr()
        while not self.nobody_asks.wait(0.001):
            self.clock.advance(500)
            self.manager.expire_delayed()


def test_producers_and_followers_in_threads() -> None:
    server = Server()
    for name in NAMES:
        server.lead(name=name, isr=(ME, OTHER))
    with ThreadPoolExecutor(5) as threads:
        followers = [threads.submit(server.fetch_all, replica) for replica in (OTHER, THIRD)]
        producers = [threads.submit(server.produce_all) for _ in range(PRODUCERS)]
        clock = threads.submit(server.expire)
        try:
            errors = {error for each in producers for error in each.result(PATIENCE_S)}
            server.is_over.set()
            ends = [each.result(PATIENCE_S) for each in followers]
        finally:
            server.is_over.set()
            server.nobody_asks.set()
        clock.result(PATIENCE_S)
    assert errors == {ErrorCode.NONE}
    assert ends == [dict.fromkeys(NAMES, TOTAL)] * 2
    for name in NAMES:
        assert (server.log(name).log_end_offset, server.log(name).high_watermark) == (TOTAL, TOTAL)
        assert set(server.partition(name).isr_state.isr) == {ME, OTHER, THIRD}
