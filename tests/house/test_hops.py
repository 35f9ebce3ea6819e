"""What one call takes does not grow: no route passes more modules or calls than it did.

A cap that is left far behind is lowered. What makes a route longer has to be worth it.
"""

import pytest

from tests.house.hops import Route, measure, routes

CAPS = {
    "append of one record": Route(54, 16, 24, 9),
    "read": Route(29, 16, 20, 9),
    "commit of an offset": Route(100, 26, 44, 15),
    "fetch of an offset": Route(17, 5, 6, 6),
    "verify": Route(64_000, 108, 25_500, 28),
    "predict": Route(38_500, 122, 18_500, 31),
    "what_if": Route(58_000, 131, 28_000, 28),
}


@pytest.fixture(scope="module")
def measured() -> dict[str, Route]:
    with routes() as found:
        return {name: measure(call) for name, call in found.items()}


@pytest.mark.parametrize("name", CAPS)
def test_a_route_is_as_short_as_it_was(measured: dict[str, Route], name: str) -> None:
    taken, cap = measured[name], CAPS[name]
    assert all(one <= most for one, most in zip(taken, cap, strict=True)), f"{taken} of {cap}"


def test_each_route_has_a_cap(measured: dict[str, Route]) -> None:
    assert measured.keys() == CAPS.keys()
