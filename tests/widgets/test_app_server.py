"""The server of the app: who gets in, what pages and widgets say, and what ends with a page."""

import asyncio
import http.client
import json
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ipywidgets
import pytest
import traitlets
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.waiting import wait_until
from widgets._widget import KafkaWidget
from widgets.app.server import AppServer
from workbench.errors import ServerError

MADE: list["Echo"] = []


class Echo(KafkaWidget):
    """Answers with what it was asked."""

    _esm = "export default { render() {} }"

    text = traitlets.Unicode().tag(sync=True)
    data = traitlets.Bytes(b"\0\xff").tag(sync=True)

    def describe(self) -> str:
        """Describe it."""
        return "Echo"

    def answer_echo(self, text: str) -> tuple[dict[str, Any], list[bytes]]:
        """Return the text, and its bytes."""
        if text == "fail":
            raise ValueError("a failure")
        return {"text": text}, [text.encode()]

    def answer_later(self) -> tuple[dict[str, Any], list[bytes]]:
        """Let another thread say in the page's own when its loop gets to it, as `follow` does."""
        loop, page = asyncio.get_running_loop(), threading.current_thread()

        def show() -> None:
            self.text = f"in the page: {threading.current_thread() is page}"

        threading.Thread(target=lambda: loop.call_soon_threadsafe(show)).start()
        return {}, []


def made() -> ipywidgets.VBox:
    MADE.append(Echo())
    return ipywidgets.VBox([MADE[-1]])


@pytest.fixture(name="server", scope="module")
def server_() -> Iterator[AppServer]:
    with AppServer(made, title="A <title>", shown="/some & where") as server:
        yield server


def ask(server: AppServer, path: str, **headers: str) -> tuple[int, Any, str]:
    connection = http.client.HTTPConnection("localhost", server.port, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def token_of(server: AppServer) -> str:
    return server.address.partition("=")[2]


def cookie_of(server: AppServer) -> str:
    _, headers, _ = ask(server, f"/?token={token_of(server)}")
    return str(headers["Set-Cookie"]).partition(";")[0]


@contextmanager
def opened(server: AppServer, **headers: str) -> Iterator[ClientConnection]:
    address = f"ws://localhost:{server.port}/channel"
    given = {"Cookie": cookie_of(server), "Origin": f"http://localhost:{server.port}"} | headers
    with connect(address, additional_headers=given, proxy=None, max_size=None) as page:
        yield page


def next_message(page: ClientConnection) -> tuple[dict[str, Any], list[bytes]]:
    frame = page.recv(30)
    assert isinstance(frame, bytes)
    size = int.from_bytes(frame[:4])
    message = json.loads(frame[4 : 4 + size])
    at, buffers = 4 + size, []
    for each in message.pop("sizes"):
        buffers.append(frame[at : at + each])
        at += each
    assert at == len(frame)
    return message, buffers


def until(page: ClientConnection, kind: str) -> list[tuple[dict[str, Any], list[bytes]]]:
    """Return the messages up to the first of a kind."""
    found = [next_message(page)]
    while found[-1][0]["type"] != kind:
        found.append(next_message(page))
    return found


def test_the_page_is_whole_and_runs_its_own_script_alone(server: AppServer) -> None:
    status, headers, text = ask(server, f"/?token={token_of(server)}")
    assert status == 200
    assert "A &lt;title&gt;" in text
    assert "/some &amp; where" in text
    assert "src=" not in text
    nonce = text.partition('nonce="')[2].partition('"')[0]
    assert f"script-src 'nonce-{nonce}' blob:" in headers["Content-Security-Policy"]
    assert "HttpOnly; SameSite=Lax" in headers["Set-Cookie"]
    again = ask(server, "/", Cookie=f"other=1; {cookie_of(server)}")
    assert again[0] == 200
    assert nonce not in again[2]


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 403),
        ("/?token=", {}, 403),
        ("/?token=wrong", {}, 403),
        ("/?token=%ff", {}, 403),
        ("/", {"Cookie": "kafka-workbench=x; ;=; kafka-workbench-PORT=wrong"}, 403),
        ("/?token=TOKEN", {"Host": "elsewhere.example"}, 403),
        ("/?token=TOKEN", {"Host": ""}, 403),
        ("/?token=TOKEN", {"Host": "["}, 400),
        ("/", {"Cookie": "kafka-workbench-PORT=\xff"}, 403),
        ("/channel?token=TOKEN", {"Origin": "http://["}, 400),
        ("/nowhere?token=TOKEN", {}, 404),
        ("/../../etc/passwd?token=TOKEN", {}, 404),
        ("/channel", {}, 403),
    ],
)
def test_others_are_refused(
    server: AppServer, path: str, headers: dict[str, str], status: int
) -> None:
    filled = {name: each.replace("PORT", str(server.port)) for name, each in headers.items()}
    found, _, text = ask(server, path.replace("TOKEN", token_of(server)), **filled)
    assert found == status
    assert "<script" not in text


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": ""},
        {"Origin": "http://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Host": "elsewhere.example", "Origin": "http://elsewhere.example"},
    ],
)
def test_a_socket_of_others_is_refused(server: AppServer, headers: dict[str, str]) -> None:
    with pytest.raises(InvalidStatus, match="403"), opened(server, **headers):
        pass


def test_widgets_and_their_page_follow_each_other_and_end_together(server: AppServer) -> None:
    with opened(server) as page:
        start = until(page, "show")
        states = {
            message["id"]: (message["data"], buffers)
            for message, buffers in start
            if message["type"] == "open"
        }
        (box,) = [start[-1][0]["id"]]
        (child,) = states[box][0]["state"]["children"]
        ident = child.removeprefix("IPY_MODEL_")
        data, buffers = states[ident]
        assert data["buffer_paths"] == [["data"]]
        assert buffers == [b"\0\xff"]
        assert server.pages == 1

        state = {"text": "from the page"}
        page.send(json.dumps({"id": ident, "data": {"method": "update", "state": state}}))
        told = until(page, "done")
        assert told == [({"type": "done", "id": ident}, [])]
        widget = MADE[-1]
        assert widget.text == "from the page"

        for text, answer in (
            ("héllo", {"kind": "echo", "id": 7, "text": "héllo"}),
            ("fail", {"kind": "error", "id": 7, "text": "a failure"}),
        ):
            content = {"kind": "echo", "id": 7, "text": text}
            page.send(json.dumps({"id": ident, "data": {"method": "custom", "content": content}}))
            message, buffers = until(page, "msg")[-1]
            while message["data"]["method"] != "custom":  # the state with the error
                message, buffers = until(page, "msg")[-1]
            assert message["data"]["content"] == answer
            assert buffers == ([text.encode()] if answer["kind"] == "echo" else [])

        page.send(json.dumps({"id": "unknown", "data": {"method": "custom", "content": {}}}))
        widget.data = b"news"
        message, buffers = until(page, "msg")[-1]
        while message["data"].get("buffer_paths") != [["data"]]:
            message, buffers = until(page, "msg")[-1]
        assert buffers == [b"news"]
    wait_until(lambda: server.pages == 0)
    wait_until(lambda: widget.comm is None)


def test_another_thread_reaches_widgets_in_the_thread_of_their_page(server: AppServer) -> None:
    with opened(server) as page:
        until(page, "show")
        ident = MADE[-1].model_id
        content = {"kind": "later", "id": 1}
        page.send(json.dumps({"id": ident, "data": {"method": "custom", "content": content}}))
        message, _ = until(page, "msg")[-1]
        while "text" not in message["data"].get("state", {}):
            message, _ = until(page, "msg")[-1]
        assert message["data"]["state"]["text"] == "in the page: True"


def test_pages_know_nothing_of_each_other(server: AppServer) -> None:
    with opened(server) as first, opened(server) as second:
        mine = {message["id"] for message, _ in until(first, "show")}
        others = {message["id"] for message, _ in until(second, "show")}
        assert not mine & others
        assert server.pages == 2
    wait_until(lambda: server.pages == 0)


def test_a_screen_that_cannot_be_made_says_why() -> None:
    def fail() -> ipywidgets.VBox:
        made()
        raise ValueError("nothing to show")

    with AppServer(fail, title="", shown="") as server, opened(server) as page:
        assert until(page, "problem")[-1][0] == {"type": "problem", "text": "nothing to show"}
        wait_until(lambda: MADE[-1].comm is None)


def test_a_port_that_is_taken_is_named(server: AppServer) -> None:
    with pytest.raises(ServerError, match=rf"localhost:{server.port}: cannot listen"):
        AppServer(made, title="", shown="", port=server.port)


def test_a_page_opens_after_too_many_files_were_open() -> None:
    with AppServer(made, title="t", shown="s") as server, socket.socket() as client:
        assert ask(server, "/")[0] == 403  # it serves; to begin, it opens files
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
        try:
            client.connect(("127.0.0.1", server.port))  # a name would open files
            client.settimeout(0.3)
            with pytest.raises(TimeoutError):
                client.recv(1)  # nobody accepts it
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert ask(server, f"/?token={token_of(server)}")[0] == 200


def test_every_page_ends_with_the_server() -> None:
    with AppServer(made, title="", shown="") as server, opened(server) as page:
        until(page, "show")
        widget = MADE[-1]
        server.end()
        wait_until(lambda: widget.comm is None)
        assert server.pages == 0
