"""Clients connect by TLS and with a password, and only so."""

import asyncio
import datetime as dt
import ssl
import struct
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaConnectionError
from confluent_kafka import Consumer, KafkaException
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import workbench as wb
from tests.kafka_broker import run_java
from tests.server.asking import Asker
from tests.server.conftest import SHOP
from tests.server.hostile import frame
from tests.server.test_hostile_clients import connect, receive
from tests.waiting import HANGS_AFTER_S
from workbench.errors import ServerError
from workbench.server.events import Event, RequestDone
from workbench.server.protocol.api_keys import METADATA
from workbench.server.server import Server

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is tested is that it is refused
USER, PASSWORD = "ann", "swörd:fish"


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate for 127.0.0.1 with its key, both in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "workbench")])
    now = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    return path


@pytest.fixture(scope="module")
def passwords(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sasl") / "passwords"
    path.write_text(f"# who may read\n{USER}:{PASSWORD}\n\nbob:x\n")
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return []


@pytest.fixture(scope="module")
def safe(pem: Path, passwords: Path, events: list[Event]) -> Iterator[Server]:
    """Return a server that wants TLS and a password."""
    security = wb.ServerSecurity(certificate=pem, passwords=passwords)
    with wb.serve(SHOP, security=security, observe=events.append) as server:
        yield server


def test_aiokafka_reads_with_the_password(safe: Server, pem: Path) -> None:
    assert asyncio.run(_read(safe, pem, PASSWORD)) > 0


def test_a_wrong_password_is_told_and_ends_the_connection(
    safe: Server, pem: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KafkaConnectionError):
        asyncio.run(_read(safe, pem, "wrong"))
    assert "Invalid username or password" in caplog.text  # as the client was told


async def _read(server: Server, pem: Path, password: str) -> int:
    consumer = AIOKafkaConsumer(
        "orders",
        bootstrap_servers=server.bootstrap_servers,
        auto_offset_reset="earliest",
        security_protocol="SASL_SSL",
        ssl_context=ssl.create_default_context(cafile=str(pem)),
        sasl_mechanism="PLAIN",
        sasl_plain_username=USER,
        sasl_plain_password=password,
    )
    try:
        await consumer.start()
        return len((await consumer.getone()).value)
    finally:
        await consumer.stop()


def confluent(server: Server, pem: Path, password: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": server.bootstrap_servers,
        "group.id": "secret",
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(pem),
        "sasl.mechanism": "PLAIN",
        "sasl.username": USER,
        "sasl.password": password,
    }


def test_librdkafka_reads_with_the_password_alone(safe: Server, pem: Path) -> None:
    consumer = Consumer(confluent(safe, pem, PASSWORD))
    assert "orders" in consumer.list_topics(timeout=HANGS_AFTER_S).topics
    consumer.close()
    consumer = Consumer({**confluent(safe, pem, "wrong"), "log_level": 0})
    with pytest.raises(KafkaException):
        consumer.list_topics(timeout=2)
    consumer.close()


@pytest.mark.broker
def test_the_console_consumer_reads_with_the_password(
    safe: Server, pem: Path, tmp_path: Path
) -> None:
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    settings = tmp_path / "client.properties"
    settings.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        f"ssl.truststore.type=PEM\nssl.truststore.location={_only_certificate(pem, tmp_path)}\n"
        f'sasl.jaas.config={login} required username="bob" password="x";\n'
    )
    done = run_java(
        "4.2.0", "org.apache.kafka.tools.GetOffsetShell",
        "--bootstrap-server", safe.bootstrap_servers, "--command-config", str(settings),
        "--topic", "orders",
    )  # fmt: skip
    assert "orders:0:" in done.stdout, done.stderr[-2000:]


def _only_certificate(pem: Path, folder: Path) -> Path:
    path = folder / "ca.pem"
    path.write_text(pem.read_text().partition("-----BEGIN PRIVATE")[0])
    return path


def test_nothing_is_answered_before_the_password(passwords: Path) -> None:
    """Over a connection without TLS, where the bytes can be written by hand."""
    heard: list[Event] = []
    security = wb.ServerSecurity(passwords=passwords)
    with wb.serve(SHOP, security=security, observe=heard.append) as server:
        with connect(server) as client:  # Metadata
            client.sendall(frame(3, 1, struct.pack(">i", 0)))
            assert receive(client) is None
        with connect(server) as client:  # the token of an unknown user
            client.sendall(frame(17, 1, struct.pack(">h", 5) + b"PLAIN"))
            assert b"PLAIN" in (receive(client) or b"")
            token = b"\0eve\0x"
            client.sendall(frame(36, 0, struct.pack(">i", len(token)) + token))
            assert b"Invalid username or password" in (receive(client) or b"")
            assert receive(client) is None
        with connect(server) as client:  # more bytes than a token has
            client.sendall(struct.pack(">i", 1 << 20))
            assert receive(client) is None
        with connect(server) as client:  # the exchange of old clients: a token without a header
            client.sendall(frame(17, 0, struct.pack(">h", 5) + b"PLAIN"))
            assert receive(client)
            token = b"\0bob\0x"
            client.sendall(struct.pack(">i", len(token)) + token)
            assert receive(client) == b""
            client.sendall(frame(18, 0, b""))
            assert len(receive(client) or b"") > 50
    problems = [each.problem for each in heard if isinstance(each, RequestDone) and each.problem]
    assert any("Metadata before" in problem for problem in problems)


def test_files_that_cannot_be_used_are_named(tmp_path: Path, pem: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("no colon\n")
    for security, said in [
        (wb.ServerSecurity(certificate=wrong), "PEM"),
        (wb.ServerSecurity(key=pem), "without a certificate"),
        (wb.ServerSecurity(passwords=wrong), "line 1"),
        (wb.ServerSecurity(passwords=tmp_path / "missing"), "cannot be read"),
    ]:
        with pytest.raises(ServerError, match=said):
            wb.serve(SHOP, security=security).start()


def test_other_interfaces_need_both(pem: Path, passwords: Path) -> None:
    for security in (wb.ServerSecurity(certificate=pem), wb.ServerSecurity(passwords=passwords)):
        with pytest.raises(ServerError, match="other machines"):
            wb.serve(SHOP, host=EVERYWHERE, security=security).start()
    both = wb.ServerSecurity(certificate=pem, passwords=passwords)
    with wb.serve(SHOP, host=EVERYWHERE, security=both) as server:
        assert server.port


def test_clients_are_told_the_advertised_address() -> None:
    with (
        wb.serve(SHOP, advertised="log.example:19092") as server,
        Asker(server.bootstrap_servers) as asker,
    ):
        found = asker.ask(METADATA, 9, {"topics": None})["brokers"]
    assert [(each["host"], each["port"]) for each in found] == [("log.example", 19092)]
