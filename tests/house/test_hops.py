"""What one call takes does not grow: no route passes more modules or calls than it did.

A cap that is left far behind is lowered. What makes a route longer has to be worth it.

The 18 modules of a client's fetch have a subject each: of the request (`kafka_apis`,
`fetch_requests`, `fetch_sessions`, `budget`, `request_trace`), of the log (`catalog`, `served_log`,
`log_read`, `entries`), of its bytes (`source`, `windows`, `buffers`, `batch_table`, and two
kernels: headers and CRCs), and of the response (`frames`, `message_schema`, `varint`).
"""

import pytest

from tests.house.hops import Route, measure, routes

CAPS = {
    "append of one record": Route(53, 15, 23, 8),
    "read": Route(28, 16, 20, 9),
    "commit of an offset": Route(96, 22, 38, 14),
    "fetch of an offset": Route(17, 5, 6, 6),
    "fetch of a client": Route(138, 18, 48, 15),
    "verify": Route(57_500, 109, 24_000, 27),
    "predict": Route(36_500, 119, 16_600, 31),
    "what_if": Route(55_000, 130, 26_550, 28),
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
