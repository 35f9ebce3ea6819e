"""Rounds about `kafka-workbench app`: requests as strangers send them.

Among them are pages of other sites, and other machines.

A name that a stranger gave to this machine (DNS rebinding), another port, a token or a cookie of
somebody else, more than one of each: whoever lacks one of what our page has is refused.
"""

import socket
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import ipywidgets

from widgets.app.server import AppServer

TRIES: Final = 300  # requests of a round
PATIENCE_S: Final = 60.0
_ODD: Final = (
    "", "null", "[", "[::1", "]", "\xff", "a" * 5000, "http://[", "\t", "%00",
    "http://localhost@elsewhere.example", "localhost.elsewhere.example", "0", "127.1",
    "http://elsewhere.example#localhost", "//", "http://LOCALHOST", "localhost.", "xn--80ak6aa92e",
)  # fmt: skip


class LetInError(AssertionError):
    """A stranger got in, our own page did not, or the server failed."""


def ask_as_strangers(_folder: Path, seed: int) -> None:
    """Ask with what our page sends, of which one thing or several are not as they should be.

    Raises:
        LetInError: see there.
    """
    rng = Random(seed)
    with AppServer(ipywidgets.VBox, title="t", shown="s") as server:
        own = f"localhost:{server.port}"
        token = server.address.partition("token=")[2]
        page = _ask(server.port, f"/?token={token}", [("Host", own)])
        cookie = page.partition("Set-Cookie: ")[2].partition(";")[0]
        for _ in range(TRIES):
            path, headers, may = _request(rng, own, token, cookie)
            said = _ask(server.port, path, headers)
            status = said[9:12]
            got_in = status in {"200", "101"}
            if got_in != may or status not in {"101", "200", "400", "403", "404", ""}:
                what = f"{path!r} {headers!r}".replace(token, "TOKEN").replace(cookie, "COOKIE")
                raise LetInError(f"seed {seed}: {status} for {what}: {said[-200:]!r}")


def _request(
    rng: Random, own: str, token: str, cookie: str
) -> tuple[str, list[tuple[str, str]], bool]:
    """Return a path, headers, and whether they are those of our page."""
    port = own.partition(":")[2]
    hosts = [own] if rng.random() < 0.5 else [
        rng.choice((f"elsewhere.example:{port}", f"127.0.0.1.nip.example:{port}", *_ODD, own))
    ]  # fmt: skip
    if rng.random() < 0.1:
        hosts.append(rng.choice((own, "elsewhere.example")))
    origins = [f"http://{own}"] if rng.random() < 0.5 else [
        rng.choice(("http://elsewhere.example", f"http://localhost:1{port}", "null", *_ODD))
    ]  # fmt: skip
    if rng.random() < 0.1:
        origins = rng.choice(([], [*origins, f"http://{own}"]))
    cookies = (
        [cookie] if rng.random() < 0.6 else [rng.choice((cookie[:-1], f"{cookie}\xff", *_ODD))]
    )
    by_token = rng.random() < 0.3
    given = token if rng.random() < 0.5 else rng.choice((token[:-1], token.upper(), *_ODD[1:3]))
    is_channel = rng.random() < 0.5
    query = f"?token={given}" if by_token else ""
    headers = [("Host", each) for each in hosts]
    headers += [("Origin", each) for each in origins] + [("Cookie", each) for each in cookies]
    headers = [(name, each.replace("\t", " ")) for name, each in headers]
    if is_channel:
        headers += [
            ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ]  # fmt: skip
    knows = (by_token and given == token) or cookies == [cookie]
    is_ours = origins == [f"http://{own}"] or (not is_channel and "http://[" not in origins)
    may = hosts == [own] and knows and is_ours
    return ("/channel" if is_channel else "/") + query, headers, may


def _ask(port: int, path: str, headers: list[tuple[str, str]]) -> str:
    """Send a request; return the first kilobytes of the answer."""
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    with socket.create_connection(("localhost", port), PATIENCE_S) as connection:
        connection.sendall("\r\n".join(lines).encode("latin-1"))
        said = b""
        while b"\r\n\r\n" not in said:
            try:
                more = connection.recv(4096)
            except ConnectionResetError:
                break
            if not more:
                break
            said += more
    return said.decode("latin-1")


APP_ROUNDS: Final[dict[str, Callable[[Path, int], None]]] = {"ask as strangers": ask_as_strangers}
