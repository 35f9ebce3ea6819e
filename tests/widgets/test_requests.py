"""Requests as the widgets show them: rows, named bytes, steps, pictures."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import traitlets

import workbench as wb
from tests.waiting import wait_until
from tests.widgets.requested import Client, fetch, watched
from widgets import RequestPlayer, RequestView
from widgets.requests.story_rows import PRIVATE
from workbench.runtime.steps import KINDS
from workbench.server.protocol.api_keys import API_VERSIONS
from workbench.server.server import Server
from workbench.server.watching.request_steps import REQUEST_KINDS
from workbench.server.watching.watch import RequestWatch

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
PNG = b"\x89PNG"
NUMBER, KIND, SUBJECT, PROBLEM = 0, 2, 6, 14
ROLE, PLACE = 4, 8


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with wb.serve(SHOP) as running:
        yield running


@pytest.fixture(scope="module")
def requests(server: Server) -> RequestWatch:
    return watched(server)


def state(widget: Any, name: str) -> Any:
    return widget.get_state(name)[name]


def test_a_row_says_what_a_request_was(requests: RequestWatch) -> None:
    view = RequestView(requests)
    rows = state(view, "_rows")
    assert [(row[KIND], row[SUBJECT], row[PROBLEM]) for row in rows[:6]] == [
        ("ApiVersions", "", ""),
        ("Metadata", "orders", ""),
        ("ListOffsets", "clicks", ""),
        ("Fetch", "orders", ""),
        ("Fetch", "orders", "OFFSET_OUT_OF_RANGE"),
        ("Fetch", "no such topic", "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    assert "requests" in view.describe()
    view.close()


def test_the_table_grows_while_clients_work() -> None:
    with wb.serve(SHOP) as server:
        view = RequestView(server)
        assert state(view, "_rows") == []
        assert view.to_png().startswith(PNG)
        with Client(server) as client:
            for _ in range(20):
                client.ask(API_VERSIONS, 0, {})
        wait_until(lambda: len(view.requests) == 20)
        wait_until(lambda: len(state(view, "_rows")) == 20)
        view.close()
        with Client(server) as client:
            client.ask(API_VERSIONS, 0, {})
        time.sleep(0.6)
        assert len(state(view, "_rows")) == 20


def test_many_requests_make_few_pictures() -> None:
    with wb.serve(SHOP) as server:
        view = RequestView(server)
        changes: list[int] = []
        view.observe(lambda change: changes.append(len(change["new"])), "_rows")
        start = time.monotonic()
        with Client(server) as client:
            for _ in range(60):
                client.ask(API_VERSIONS, 0, {})
        wait_until(lambda: bool(changes) and changes[-1] == 60)
        assert len(changes) <= 2 + (time.monotonic() - start) / 0.4
        view.close()


def test_the_player_follows_the_selection(requests: RequestWatch) -> None:
    view = RequestView(requests, selected=4)
    assert view.request is requests[3]
    player = view.player
    assert player.title.startswith("Fetch v12 from 127.0.0.1:")
    view.selected = 2
    assert player.title.startswith("Metadata v9")
    view.selected = 999
    assert player.title.startswith("Metadata v9")
    assert "selected" not in view.describe()
    assert view.to_png().startswith(PNG)
    view.close()


def test_a_request_that_the_table_does_not_have_yet_is_played() -> None:
    with wb.serve(SHOP) as server:
        view = RequestView(server)
        with Client(server) as client:
            client.ask(API_VERSIONS, 0, {})
        wait_until(lambda: bool(server.watch().kept()))  # the table follows 0.4 s later
        view.selected = server.watch().kept()[-1].number
        assert view.player.request is view.request is not None
        view.close()


def test_filters_leave_what_matches(requests: RequestWatch) -> None:
    view = RequestView(requests, kind="Fetch", client="TEA")
    whole = RequestView(requests)
    assert view.to_png() != whole.to_png()
    view.client = "nobody"
    assert view.to_png().startswith(PNG)
    for each in (view, whole):
        each.close()


def test_steps_have_their_bytes_or_their_segment(requests: RequestWatch) -> None:
    player = RequestPlayer(requests[3])
    rows = state(player, "_played")["steps"]
    roles = list(dict.fromkeys(row[ROLE] for row in rows))
    assert roles == [
        "received", "called", "floor", "probe", "entry", "passed", "found", "slice", "answered",
        "sent",
    ]  # fmt: skip
    for row, step, touch in zip(rows, player.steps, player.touches, strict=True):
        is_ours = step.kind in REQUEST_KINDS
        assert (row[PLACE] is not None) == is_ours
        assert (touch.segment >= 0) != is_ours
    meanings = {kind: meaning for kind, meaning, _ in state(player, "_played")["kinds"]}
    assert meanings == {kind: (KINDS | REQUEST_KINDS)[kind] for kind in meanings}
    segments = state(player, "_played")["segments"]
    lengths = [each["batches"]["position"]["length"] for each in segments]
    assert len(segments) == 4
    assert [length > 0 for length in lengths] == [False, True, False, False]


def test_another_partition_is_read_when_it_is_chosen(requests: RequestWatch) -> None:
    player = RequestPlayer(requests[3])
    assert (player.partition, state(player, "_partitions")) == (
        "orders-0",
        ["orders-0", "orders-1"],
    )
    player.partition = "orders-1"
    assert player.story is not None
    assert player.story.partition == "orders-1"
    assert any("00000000000000000488" in step.where for step in player.steps)
    with pytest.raises(LookupError):
        player.partition = "orders-7"
    assert player.partition == "orders-1"
    with pytest.raises(LookupError):
        RequestPlayer(requests[3], "clicks-0")


def test_records_do_not_leave_the_kernel(server: Server) -> None:
    with Client(server) as client:
        request = fetch(client, 600, partition_bytes=2000)
    closed, open_ = RequestPlayer(request), RequestPlayer(request, show_values=True)
    records = next(each for each in name_fields(open_) if each["name"] == "records")
    start, size = records["start"], records["size"]
    hidden = state(closed, "_frames")["response"]
    assert [start, start + size] in hidden["masks"]
    assert not any(hidden["data"][start : start + size])
    assert any(state(open_, "_frames")["response"]["data"][start : start + size])
    assert next(each for each in name_fields(closed) if each["name"] == "records")["value"] == (
        "hidden"
    )
    assert "records" in PRIVATE


def name_fields(player: RequestPlayer) -> list[dict[str, Any]]:
    fields: list[dict[str, Any]] = state(player, "_frames")["response"]["fields"]
    return fields


def test_every_step_has_a_picture(requests: RequestWatch) -> None:
    for request, chosen in ((requests[3], (0, 5, 17)), (requests[4], (3, 4))):
        player = RequestPlayer(request)
        pictures = set()
        for player.at in chosen:
            assert player.to_png().startswith(PNG)
            pictures.add(player.to_png())
        assert len(pictures) == len(chosen)


def test_a_player_without_a_request_has_a_picture() -> None:
    player = RequestPlayer()
    assert (player.at, player.title) == (-1, "No request")
    assert player.to_png().startswith(PNG)


def test_a_saved_notebook_keeps_picture_and_text(requests: RequestWatch) -> None:
    for widget in (RequestPlayer(requests[3]), RequestView(requests)):
        bundle = widget._repr_mimebundle_()
        assert bundle is not None
        assert bundle[0]["image/png"].startswith(PNG)
        assert bundle[0]["text/plain"] == widget.describe()
        widget.close()


def test_an_unknown_option_is_refused(requests: RequestWatch) -> None:
    with pytest.raises(TypeError, match="unknown option"):
        RequestView(requests, colour="red")
    with pytest.raises(traitlets.TraitError):
        RequestView(requests, kind=3)
