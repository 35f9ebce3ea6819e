"""Records of MirrorMaker 2, as its own classes write them (`MirrorRecords.java`)."""

import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kafka_broker import CACHE, Artifact, compile_java, java_command, resolve
from workbench.decoders.registry import DECODERS, decoder_for

_WRITTEN: Final = """
checkpoint 000762696c6c696e6700096f72646572732dc3a90000000c 000000000000ee6b2800000000000000001100046e6f7465
checkpoint 000000017400000000 0000000000000000000000000000000000000000
offset sync 00096f72646572732dc3a90000000c 00000000ee6b2800ffffffffffffffff
heartbeat 000465617374000477657374 00000000018bcfe5687b
"""  # noqa: E501
"""Kind, key and value in hex, by 4.2.0."""

_ORDERS: Final = {"topic": "orders-é", "partition": 12}
_EXPECTED: Final[list[tuple[str, dict[str, Any], dict[str, Any]]]] = [
    (
        "mm2_checkpoints",
        {"group": "billing", **_ORDERS},
        {"upstreamOffset": 4_000_000_000, "offset": 17, "metadata": "note"},
    ),
    (
        "mm2_checkpoints",
        {"group": "", "topic": "t", "partition": 0},
        {"upstreamOffset": 0, "offset": 0, "metadata": ""},
    ),
    ("mm2_offset_syncs", _ORDERS, {"upstreamOffset": 4_000_000_000, "offset": -1}),
    (
        "mm2_heartbeats",
        {"sourceClusterAlias": "east", "targetClusterAlias": "west"},
        {"timestamp": 1_700_000_000_123},
    ),
]
_RECORDS: Final = [
    tuple(map(bytes.fromhex, line.split()[-2:])) for line in _WRITTEN.strip().splitlines()
]


def test_records_have_the_fields_that_mirror_maker_wrote() -> None:
    for (key, value), (name, fields, content) in zip(_RECORDS, _EXPECTED, strict=True):
        decoder = DECODERS[name]
        assert decoder.key(key) == fields
        assert decoder.value(key, value) == content
        for part in range(len(value)):
            assert "error" in decoder.value(key, value[:part])
        assert decoder.value(key, None) is None


def test_another_version_is_refused() -> None:
    key, value = _RECORDS[0]
    found = DECODERS["mm2_checkpoints"].value(key, b"\0\1" + value[2:])
    assert found["error"] == "version 1 of a checkpoint, expected 0"


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("east.checkpoints.internal", "mm2_checkpoints"),
        ("mm2-offset-syncs.west.internal", "mm2_offset_syncs"),
        ("heartbeats", None),
        ("checkpoints.internal", None),
        ("mm2-configs.west.internal", None),
    ],
)
def test_topics_have_the_decoder_of_their_name(topic: str, name: str | None) -> None:
    found = decoder_for(topic)
    assert (None if found is None else found.name) == name


@pytest.mark.slow
def test_the_classes_of_mirror_maker_still_write_these_records() -> None:
    wanted = [
        Artifact("org.apache.kafka", name, "4.2.0") for name in ("connect-mirror", "kafka-clients")
    ]
    also = resolve(CACHE / "mirror-4.2.0" / "classpath", wanted)
    source = (Path(__file__).parent / "MirrorRecords.java").read_text()
    classes = compile_java("4.2.0", source, "MirrorRecords", also)
    main = "org.apache.kafka.connect.mirror.MirrorRecords"
    command = java_command("4.2.0", main, classes=classes, also=also)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.replace("\t", " ").strip() == _WRITTEN.strip()
