"""Manifests, chunks, metadata and folders of a tier that somebody made up: findings, no more."""

import base64
import json
import os
import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

import workbench as wb
from tests.golden.archive import extract
from tests.golden.cases import Case
from workbench.errors import CorruptDataWarning, CorruptFileError
from workbench.inspection.remote_tier import metadata_topic
from workbench.inspection.remote_tier.aiven_manifest import MOST_CHUNKS, parse_manifest
from workbench.inspection.remote_tier.tier_names import parse_file_name, parse_folder_name

Golden = Callable[[str], Case]
ARCHIVE = Path(__file__).parents[1] / "golden" / "remote_tiers" / "4.2.0-aiven.tar.xz"


@pytest.fixture(scope="module")
def aiven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("aiven")
    extract(ARCHIVE, folder)
    return folder


def manifests(folder: Path) -> list[Path]:
    return sorted(folder.glob("tier/*/0/*.rsm-manifest"))


def look_at(folder: Path) -> tuple[int, list[str]]:
    """Scan and verify, which must not raise; return the records and the kinds of findings."""
    keys = {"key1": folder / "private.pem"}
    logs = wb.open_log_directory(folder / "data", remote=folder / "tier", remote_keys=keys)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptDataWarning)
        count = logs.scan(topics="paid").count()
    logs.inspect.remote_segments()
    return count, [finding.kind for finding in logs.verify(topics="paid")]


WRONG: list[Any] = [
    None, -1, 0, 1, 2**31, 2**63, 10**400, 1.5, True, "x", "", [], {}, [[]], "AAAA", float("nan"),
]  # fmt: skip


def changed(value: Any, chance: random.Random) -> Any:
    """Return JSON with one part replaced by something else, or left out."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        name = chance.choice(sorted(value))
        if chance.random() < 0.1:
            return {key: each for key, each in value.items() if key != name}
        return {**value, name: changed(value[name], chance)}
    return chance.choice(WRONG)


def test_a_manifest_is_read_or_refused_whatever_it_says(aiven: Path) -> None:
    chance = random.Random(3)
    texts = [path.read_text() for path in manifests(aiven)]
    refused = longest = 0
    for number in range(1200):
        text = chance.choice(texts)
        data = bytearray(text.encode())
        if number % 4 == 0:
            data[chance.randrange(len(data))] = chance.randrange(256)
        else:
            data = bytearray(json.dumps(changed(json.loads(text), chance)).encode())
        try:
            manifest = parse_manifest(bytes(data))
        except CorruptFileError as error:
            refused += 1
            longest = max(longest, len(str(error)))
        else:
            assert len(manifest.positions) <= MOST_CHUNKS + 1
            assert manifest.positions.min() >= 0
    assert refused > 400
    assert longest < 300
    with pytest.raises(CorruptFileError, match="not JSON"):
        parse_manifest(b"[" * 1_000_000)
    with pytest.raises(CorruptFileError, match="more bytes than"):
        parse_manifest(b" " * (2 << 20) + b"{}")


def test_a_changed_tier_gives_findings_and_never_an_error(aiven: Path, tmp_path: Path) -> None:
    chance = random.Random(11)
    shutil.copytree(aiven, tmp_path / "case")
    sound, _ = look_at(tmp_path / "case")
    files = sorted(each for each in (tmp_path / "case" / "tier").rglob("*") if each.is_file())
    for _ in range(5):
        path = chance.choice(files)
        before = path.read_bytes()
        data = bytearray(before)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        else:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        count, kinds = look_at(tmp_path / "case")
        assert count <= sound
        assert kinds or path.suffix != ".log"  # the others have parts that nothing protects
        path.write_bytes(before)


def test_chunks_that_expand_without_end_take_no_memory(aiven: Path, tmp_path: Path) -> None:
    shutil.copytree(aiven, tmp_path / "case")
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 28))
    for path in manifests(tmp_path / "case"):
        manifest = json.loads(path.read_text())
        if manifest["compression"] and "encryption" not in manifest:
            sizes = (1).to_bytes(4) + len(bomb).to_bytes(4)
            packed = base64.b64encode(zstandard.ZstdCompressor().compress(sizes)).decode()
            size = manifest["chunkIndex"]["originalFileSize"]
            manifest["chunkIndex"] |= {"originalChunkSize": size, "transformedChunks": packed}
            path.write_text(json.dumps(manifest))
            path.with_suffix(".log").write_bytes(bomb)
    before = peak_memory()
    count, kinds = look_at(tmp_path / "case")
    assert count < 272
    assert "remote-unreadable" in kinds
    assert peak_memory() - before < 100 << 20


def peak_memory() -> int:
    """Return the most bytes that this process has had."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def test_a_huge_segment_that_a_manifest_claims_is_not_reserved(aiven: Path, tmp_path: Path) -> None:
    shutil.copytree(aiven, tmp_path / "case")
    for path in manifests(tmp_path / "case"):
        manifest = json.loads(path.read_text())
        size = 2**31 - 1
        manifest["chunkIndex"] = {
            "type": "fixed", "originalChunkSize": size, "originalFileSize": size,
            "transformedChunkSize": size, "finalTransformedChunkSize": size,
        }  # fmt: skip
        path.write_text(json.dumps(manifest))
    count, kinds = look_at(tmp_path / "case")
    assert count < 272
    assert "remote-size" in kinds


def test_links_and_fifos_in_a_tier_are_not_followed(golden: Golden, tmp_path: Path) -> None:
    case = golden("4.2.0-tiered")
    tier = tmp_path / "tier"
    shutil.copytree(case.path / "tier", tier)
    (log,) = tier.glob("tier-local-0-*/00000000000000000000-*.log")
    log.rename(tmp_path / "outside")
    log.symlink_to(tmp_path / "outside")
    (index,) = tier.glob("tier-local-0-*/00000000000000000048-*.index")
    index.unlink()
    os.mkfifo(index)
    logs = wb.open_log_directory(case.directory("data"), remote=tier)
    kinds = {finding.kind for finding in logs.verify(topics="tier-local", info=True)}
    assert {"link-not-followed", "not-a-file", "remote-missing"} <= kinds
    with pytest.warns(CorruptDataWarning, match="no .log file"):
        assert logs.scan(topics="tier-local").count() == 152


def test_names_lead_to_no_other_folder() -> None:
    identity = "A" * 22
    assert parse_file_name(f"../{identity}.log") is None
    assert parse_file_name(f"00000000000000000000-{identity}.log/x") is None
    assert parse_file_name(f"99999999999999999999-{identity}.log") is None
    assert parse_folder_name("..") == ()
    assert [each.topic for each in parse_folder_name(f"a-0-{identity}")] == ["a", "a-0"]


def test_more_metadata_than_memory_allows_is_a_finding(
    golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata_topic, "MOST_ENTRIES", 3)
    case = golden("4.2.0-tiered")
    logs = wb.open_log_directory(case.directory("data"), remote=case.path / "tier")
    found = logs.verify(topics="tier-local")
    assert "remote-metadata-damaged" in {finding.kind for finding in found}
    assert any("at most 3 segments" in finding.expected for finding in found)
