"""What starts another program has its mark, whoever wrote the test."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import kafka_broker
from tests.kafka_broker import Broker
from tests.starts import started_by


@contextmanager
def _running(folder: Path) -> Iterator[Broker]:
    with Broker("4.2.0", folder) as broker:
        yield broker


class _House:
    @property
    def broker(self) -> Any:
        return _running(Path())


def _by_a_class() -> object:
    return _House().broker


def _by_a_module() -> object:
    return kafka_broker.run_java


def _inside() -> object:
    from tests.kafka_broker import compile_java

    return [lambda: compile_java]


def _by_a_table() -> object:
    return _TABLE["java"]


def _around(function: Callable[[], object]) -> Callable[[], object]:
    return lambda: [function]


_TABLE = {"java": _by_a_module}


@pytest.mark.parametrize(
    "used", [_running, _by_a_class, _by_a_module, _inside, _by_a_table, _around(_inside)]
)
def test_a_starter_is_found_through_what_leads_to_it(used: Callable[..., object]) -> None:
    assert started_by(used) == {"broker"}


def test_what_starts_nothing_has_no_mark() -> None:
    assert started_by(kafka_broker.parse_version) == frozenset()
