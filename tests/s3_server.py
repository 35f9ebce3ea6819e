"""An S3 server on loopback (moto), and the requests that it got."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.s3.models import S3Backend, s3_backends
from moto.server import ThreadedMotoServer

_REQUEST: Final = re.compile(r"(?:\"|\dm)(GET|HEAD|PUT|POST|DELETE) (\S+) HTTP")
_CREDENTIALS: Final = {
    "AWS_ACCESS_KEY_ID": "any",
    "AWS_SECRET_ACCESS_KEY": "any",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class _Requests(logging.Handler):
    """Keep the requests of werkzeug's log: method and target."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        found = _REQUEST.search(record.getMessage())
        if found:
            self.seen.append((found[1], found[2]))


class S3Server:
    """A running server.

    Attributes:
        query: the part of a URI that leads pyarrow to it.
    """

    def __init__(self, host: str, port: int, requests: list[tuple[str, str]]) -> None:
        self.query = f"scheme=http&endpoint_override={quote(f'{host}:{port}', safe='')}"
        self.requests = requests

    @property
    def lists(self) -> int:
        """How many requests for a list of keys there were."""
        return sum("list-type" in target for _, target in self.requests)

    @property
    def reads(self) -> int:
        """How many requests for bytes of a file there were."""
        return sum(
            method == "GET" and "list-type" not in target for method, target in self.requests
        )

    def uri(self, place: str) -> str:
        """Return the URI of a bucket and folder."""
        return f"s3://{place}?{self.query}"

    @staticmethod
    def backend() -> S3Backend:
        """Return what holds the objects: in this process, so without a request."""
        return s3_backends[DEFAULT_ACCOUNT_ID]["aws"]

    def put(self, bucket: str, objects: dict[str, bytes]) -> None:
        """Store objects by key."""
        backend = self.backend()
        if bucket not in backend.buckets:
            backend.create_bucket(bucket, "us-east-1")
        for key, data in objects.items():
            backend.put_object(bucket, key, data)

    def put_folder(self, bucket: str, folder: str, source: Path) -> None:
        """Store every file below a folder of this machine, with the time of its last change."""
        for path in source.rglob("*"):
            if path.is_file():
                key = f"{folder}/{path.relative_to(source).as_posix()}"
                self.put(bucket, {key: path.read_bytes()})
                stored = self.backend().get_object(bucket, key)
                assert stored is not None
                stored.last_modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """Run a server, with credentials for it in the environment."""
    patch = pytest.MonkeyPatch()
    for name, value in _CREDENTIALS.items():
        patch.setenv(name, value)
    requests = _Requests()
    log = logging.getLogger("werkzeug")
    before = log.level, log.propagate
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(requests)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        yield S3Server(*server.get_host_and_port(), requests.seen)
    finally:
        server.stop()
        log.removeHandler(requests)
        log.setLevel(before[0])
        log.propagate = before[1]
        patch.undo()
