"""What is pinned to a ticket is in the report, with its note, and nothing that records hold."""

from pathlib import Path
from typing import Any

import pytest

from widgets import Workbench
from widgets.frame.ticket import MOST_PINS

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
TABLE = {
    "label": "Rules",
    "headings": ["Rule", "Segment", "Verdict"],
    "rows": [["retention.ms", "38,745", "deleted"], ["<script>", "0"]],
}


@pytest.fixture(name="screen", scope="module")
def screen_() -> Workbench:
    screen = Workbench(SHOP)
    screen.views["Overview"].wait()
    return screen


def ask(screen: Workbench, kind: str, **body: Any) -> dict[str, Any]:
    sent: list[dict[str, Any]] = []
    screen.bar.send = lambda content, **_buffers: sent.append(content)
    screen.bar.receive(screen.bar, {"kind": kind, "id": 1, **body}, [])
    (answer,) = sent
    return answer


def test_the_report_begins_with_what_is_pinned(screen: Workbench) -> None:
    screen.explorer.selected = {"partition": "clicks-0"}
    screen.tab = "Retention"
    ask(screen, "pin", note=" why is it gone? ", told=["deletes 3 of 3"], tables=[TABLE, TABLE])
    assert screen.bar.pins == ["Retention: clicks-0, segment 0 · Note: why is it gone?"]
    html = ask(screen, "report")["html"]
    first = html.index('<section id="part-0"')
    pinned = html[first : html.index('<section id="part-2"')]
    address = "#tab=Retention&amp;partition=clicks-0&amp;segment=0"
    said = ("Retention: clicks-0", "Note: why is it gone?", "deletes 3 of 3", "38,745")
    for text in (*said, "&lt;script&gt;", address):
        assert text in pinned
    assert "What fills the disk?" in html  # what the overview has is there, too
    assert "broker starts" in html


def test_a_pin_is_removed_and_there_is_an_end_to_them(screen: Workbench) -> None:
    for number in range(MOST_PINS - len(screen.bar.pins)):
        ask(screen, "pin", note=f"n{number}", told=[], tables=[])
    assert len(screen.bar.pins) == MOST_PINS
    refused = ask(screen, "pin", note="one more", told=[], tables=[])
    assert refused["text"] == f"there are {MOST_PINS} pins: download the report and remove some"
    last = screen.bar.pins[-1]
    ask(screen, "unpin", number=MOST_PINS - 2)
    assert screen.bar.pins[-1] == last
    assert len(screen.bar.pins) == MOST_PINS - 1
    assert ask(screen, "unpin", number=MOST_PINS)["text"] == f"no pin {MOST_PINS}"
