"""Archives of log directories: read as the directory, whatever is in them."""

import io
import os
import shutil
import tarfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
import zstandard
from click.testing import CliRunner

import workbench as wb
from tests.golden.cases import open_case
from workbench.cli.main import main
from workbench.errors import LogDirectoryError
from workbench.file_system.archives import unpacking

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
_FOLDER = "orders-0"
_LOG = f"{0:020}.log"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_case("4.2.0-txn", tmp_path_factory.mktemp("archives")).path / "data"


@pytest.fixture(scope="module")
def batches(logs: Path) -> bytes:
    """Return a `.log` file."""
    return (logs / "txn-a-0" / _LOG).read_bytes()


def _tar(logs: Path, path: Path) -> None:
    mode = {".tar": "w", ".gz": "w:gz", ".xz": "w:xz", ".bz2": "w:bz2"}[path.suffix]
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        tar.add(logs, "kafka/data")


def _tar_zst(logs: Path, path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(logs, ".")
    path.write_bytes(zstandard.compress(buffer.getvalue()))


def _zip(logs: Path, path: Path) -> None:
    method = zipfile.ZIP_STORED if "stored" in path.name else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "w", method) as file:
        for each in sorted(logs.rglob("*")):
            file.write(each, each.relative_to(logs))


def _made(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def _file(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("logs.tar", _tar), ("logs.tar.gz", _tar), ("logs.tar.xz", _tar), ("logs.tar.bz2", _tar),
        ("logs.tar.zst", _tar_zst), ("stored.zip", _zip), ("deflated.zip", _zip),
    ],
)  # fmt: skip
def test_an_archive_is_read_as_the_directory_in_it(
    logs: Path, tmp_path: Path, name: str, make: Callable[[Path, Path], None]
) -> None:
    make(logs, tmp_path / name)
    before = sorted(os.listdir(tmp_path))
    opened, folder = wb.open_log_directory(tmp_path / name), wb.open_log_directory(logs)
    assert opened.scan().to_arrow().equals(folder.scan().to_arrow())
    root = opened.roots[0].path
    assert [str(each).replace(root, "DIR") for each in opened.verify(info=True)] == [
        str(each).replace(str(logs), "DIR") for each in folder.verify(info=True)
    ]
    assert sorted(os.listdir(tmp_path)) == before


_NOW = "--now=1800000000000"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a log directory, whose files have whole seconds as in a tar, and an archive of it."""
    place = tmp_path_factory.mktemp("shop")
    folder = Path(shutil.copytree(SHOP, place / "kafka"))
    for path in folder.rglob("*"):
        os.utime(path, (int(path.stat().st_mtime),) * 2)
    with tarfile.open(place / "logs.tar.gz", "w:gz") as tar:
        tar.add(folder, "kafka")
    return folder, place / "logs.tar.gz"


@pytest.mark.parametrize(
    "command",
    [
        "ls DIR", "describe DIR", "describe DIR/orders-0", "describe DIR -p orders-0 --segment 0",
        "describe DIR/orders-0/leader-epoch-checkpoint", "verify DIR", "cluster DIR",
        "cluster DIR --history", "groups DIR", "offsets DIR", "transactions DIR",
        f"stuck DIR {_NOW}", f"preflight DIR {_NOW} --rate=1000000", f"predict DIR {_NOW}",
        f"explain DIR {_NOW}", f"plan DIR {_NOW}", f"what-if DIR {_NOW}", "repairs DIR",
        "offset orders-0 3 DIR",
    ],
)  # fmt: skip
def test_a_command_says_of_an_archive_what_it_says_of_the_directory(
    shop: tuple[Path, Path], command: str
) -> None:
    said = []
    for place, shown in ((shop[0], shop[0]), (shop[1], shop[1] / "kafka")):
        given = shown if "DIR/" in command else place
        words = [word.replace("DIR", str(given)) for word in command.split()]
        result = CliRunner().invoke(main, [*words, "--json"])
        said.append((result.exit_code, result.output.replace(str(shown), "DIR")))
    assert said[0] == said[1]
    assert len(said[0][1]) > 1


def test_a_file_in_an_archive_is_opened_by_its_path(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tar(logs, tmp_path / "logs.tar")
    monkeypatch.chdir(tmp_path)
    opened = wb.open_log_directory(f"logs.tar/kafka/data/txn-a-0/{_LOG}")
    expected = wb.open_log_directory(logs / "txn-a-0" / _LOG)
    assert opened.scan().to_arrow().equals(expected.scan().to_arrow())
    with pytest.raises(LogDirectoryError, match="there is no such file or directory"):
        wb.open_log_directory("logs.tar/kafka/other")


def test_an_archive_that_is_replaced_is_read_again(batches: bytes, tmp_path: Path) -> None:
    path = tmp_path / "logs.tar"
    _made(path, (_file(f"{_FOLDER}/{_LOG}"), batches))
    assert list(wb.open_log_directory(path)) == [_FOLDER]
    _made(tmp_path / "new.tar", (_file(f"other-3/{_LOG}"), batches))
    os.replace(tmp_path / "new.tar", path)
    assert list(wb.open_log_directory(path)) == ["other-3"]


def test_links_devices_and_names_that_lead_out_are_named_and_not_followed(
    batches: bytes, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(batches)
    path = _made(
        tmp_path / "hostile.tar",
        (_file(f"{_FOLDER}/{_LOG}", tarfile.SYMTYPE, str(secret)), b""),
        (_file(f"{_FOLDER}/{5:020}.log", tarfile.LNKTYPE, "../secret"), b""),
        (_file(f"{_FOLDER}/{6:020}.log", tarfile.CHRTYPE), b""),
        (_file(f"{_FOLDER}/{7:020}.log", tarfile.FIFOTYPE), b""),
        (_file(f"../../{_FOLDER}/{8:020}.log"), batches),
        (_file(f"/abs-0/{_LOG}"), batches),
        (_file(f"{_FOLDER}/{_LOG}/x"), batches),
    )
    opened = wb.open_log_directory(path)
    found = {each.path.rpartition("/")[2]: each for each in opened.verify(info=True)}
    for name, words in (
        (_LOG, "a symbolic link"), (f"{5:020}.log", "a hard link"), (f"{6:020}.log", "a device"),
        (f"{7:020}.log", "a FIFO"),
    ):  # fmt: skip
        assert (found[name].kind, found[name].found) == ("not-a-file", words)
    assert any("leads out of the archive" in each.found for each in found.values())
    assert any("below a file" in each.found for each in found.values())
    assert opened["abs-0"].log_end_offset  # a leading slash is no other place
    assert not opened[_FOLDER].segments


def test_of_two_members_of_one_name_the_last_is_read_and_the_other_named(
    batches: bytes, tmp_path: Path
) -> None:
    name = f"{_FOLDER}/{_LOG}"
    path = _made(tmp_path / "twice.tar", (_file(name), b"x" * 100), (_file(name), batches))
    opened = wb.open_log_directory(path)
    assert opened[_FOLDER].size == len(batches)
    assert any("earlier member" in each.found for each in opened.verify(info=True))


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tar.xz", "tar.zst", "zip"])
def test_an_archive_that_ends_early_is_refused(logs: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"logs.{ending}"
    {"zip": _zip, "tar.zst": _tar_zst}.get(ending, _tar)(logs, path)
    whole = path.read_bytes()
    for size in (len(whole) * 2 // 3, len(whole) // 2, 100, 0):
        path.write_bytes(whole[:size])
        with pytest.raises(LogDirectoryError, match="not read as an archive"):
            wb.open_log_directory(path)


def test_a_damaged_member_of_a_zip_is_a_finding(batches: bytes, tmp_path: Path) -> None:
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(f"{_FOLDER}/{_LOG}", batches)
        file.writestr(f"{_FOLDER}/{1000:020}.log", batches)
    data = bytearray(path.read_bytes())
    data[80] ^= 0xFF  # in the first member
    path.write_bytes(data)
    kinds = {each.path.rpartition("/")[2]: each.kind for each in wb.verify(path)}
    assert kinds[_LOG] == "unreadable"


@pytest.mark.parametrize("name", ["bomb.tar.gz", "bomb.zip"])
def test_a_bomb_is_refused_at_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(unpacking, "MOST_STORED", 8 << 20)
    path = tmp_path / name
    bomb = b"\1" * (32 << 20)
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr(f"{_FOLDER}/{_LOG}", bomb)
        (finding,) = (each for each in wb.verify(path) if each.kind == "unreadable")
        assert "more than 8 MiB when decompressed" in finding.found
        return
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        info = _file(f"{_FOLDER}/{_LOG}")
        info.size = len(bomb)
        tar.addfile(info, io.BytesIO(bomb))
    with pytest.raises(LogDirectoryError, match="more than 8 MiB when decompressed; unpack it"):
        wb.open_log_directory(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_of_a_zip_that_zipfile_expands_without_a_limit_is_named(
    batches: bytes, tmp_path: Path, method: int
) -> None:
    """A bzip2 of 1 MiB can be one of 20 GB, which zipfile reads at once."""
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a-0/" + _LOG, batches)
        file.writestr("b-0/" + _LOG, batches, method)
        file.writestr(zipfile.ZipInfo(""), b"no name")
    logs = wb.open_log_directory(path)
    assert logs.scan("a").count() > 0
    (finding,) = (each for each in logs.verify() if each.kind == "not-a-file")
    assert finding.path.endswith(f"b-0/{_LOG}")
    assert f"compressed by method {method} of zip (expected deflate)" in finding.found


def test_an_empty_zip_has_no_partitions(tmp_path: Path) -> None:
    zipfile.ZipFile(tmp_path / "empty.zip", "w").close()
    assert len(wb.open_log_directory(tmp_path / "empty.zip")) == 0


def test_headers_that_promise_much_are_refused(tmp_path: Path) -> None:
    long = tarfile.TarInfo("x")
    long.type = tarfile.XHDTYPE
    long.size = 1 << 40
    (tmp_path / "header.tar").write_bytes(long.tobuf() + bytes(1024))
    sparse = tarfile.TarInfo(f"{_FOLDER}/{_LOG}")
    sparse.size = 1 << 40
    (tmp_path / "size.tar").write_bytes(sparse.tobuf() + bytes(1024))
    for name in ("header.tar", "size.tar"):
        with pytest.raises(LogDirectoryError, match=r"not read as an archive: .*end of"):
            wb.open_log_directory(tmp_path / name)


def test_mutated_archives_are_read_or_refused(batches: bytes, tmp_path: Path) -> None:
    whole = _made(tmp_path / "whole.tar", (_file(f"{_FOLDER}/{_LOG}"), batches)).read_bytes()
    with zipfile.ZipFile(tmp_path / "whole.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(f"{_FOLDER}/{_LOG}", batches)
    zipped = (tmp_path / "whole.zip").read_bytes()
    rng = Random(11)
    for number in range(300):
        for ending, source in (("tar", whole), ("zip", zipped)):
            data = bytearray(source)
            for _ in range(rng.randint(1, 4)):
                place = rng.randrange(512 if ending == "tar" else len(data))
                data[place] = rng.randrange(256)
            path = tmp_path / f"{number}.{ending}"
            path.write_bytes(data)
            with suppress(LogDirectoryError):
                wb.open_log_directory(path).verify(info=True)


def _with_a_map(path: Path, pairs: list[tuple[int, int]], data: bytes, size: int) -> Path:
    """Write a tar of one sparse member in GNU's format 1.0: its map is in front of its data."""
    text = b"".join(b"%d\n%d\n" % pair for pair in pairs)
    head = b"%d\n" % len(pairs) + text
    content = head + bytes(-len(head) % 512) + data
    info = tarfile.TarInfo(f"{_FOLDER}/GNUSparseFile.0/{_LOG}")
    info.size = len(content)
    info.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": f"{_FOLDER}/{_LOG}",
        "GNU.sparse.realsize": str(size),
    }
    kind: Any = "w:gz" if path.suffix == ".gz" else "w"
    with tarfile.open(path, kind, format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info, io.BytesIO(content))
    return path


def _peak_of(path: Path, words: str) -> int:
    """Return how many bytes Python holds at the most until an archive is refused."""
    tracemalloc.start()
    try:
        with pytest.raises(LogDirectoryError, match=words):
            wb.open_log_directory(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_sparse_map_of_millions_is_refused_before_it_is_built(tmp_path: Path) -> None:
    path = _with_a_map(tmp_path / "map.tar.gz", [(0, 0)] * 4_000_000, b"", 512)
    assert _peak_of(path, r"more than 1,024 KiB of headers; unpack it yourself") < 64 << 20


def test_long_names_are_counted_together(tmp_path: Path) -> None:
    path = tmp_path / "names.tar.gz"
    with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT, compresslevel=1) as tar:
        for number in range(20_000):
            tar.addfile(_file(f"{number:05}" + "x" * 3900))
    assert _peak_of(path, "names have more than 64 MiB") < 160 << 20


def test_a_sparse_member_is_read_run_by_run(tmp_path: Path) -> None:
    count, step = 20_000, 64
    pairs = [(number * step, 8) for number in range(count)]
    data = b"".join(number.to_bytes(8, "big") for number in range(count))
    path = _with_a_map(tmp_path / "sparse.tar", pairs, data, count * step)
    (segment,) = wb.open_log_directory(path)[_FOLDER].segments
    with segment.open() as source:
        assert source.size == count * step
        start = time.process_time()
        for number in range(0, count, 10):
            found = source.read(number * step, step).tobytes()
            assert found == number.to_bytes(8, "big") + bytes(step - 8)
        assert time.process_time() - start < 2  # 2,000 reads, each of one run
        whole = source.read(0, count * step).tobytes()
    assert whole[:: step // 8 * 8][:4] == bytes(4)
    assert [whole[at : at + 8] for at in range(0, count * step, step)] == [
        data[at : at + 8] for at in range(0, len(data), 8)
    ]


def test_a_sparse_map_that_leads_backwards_is_refused(tmp_path: Path) -> None:
    path = _with_a_map(tmp_path / "back.tar", [(64, 8), (0, 8)], bytes(16), 128)
    with pytest.raises(LogDirectoryError, match="a sparse map leads backwards"):
        wb.open_log_directory(path)


@pytest.mark.alone
def test_empty_partitions_take_time_by_their_number(tmp_path: Path) -> None:
    def seconds(count: int) -> float:
        path = tmp_path / f"{count}.tar"
        with tarfile.open(path, "w") as tar:
            for number in range(count):
                tar.addfile(_file(f"logs/topic-{number}", tarfile.DIRTYPE))
        start = time.process_time()
        assert len(wb.open_log_directory(path)) == count
        assert len(wb.verify(path)) == count
        return time.process_time() - start

    seconds(100)
    few = min(seconds(500) for _ in range(3))
    many = min(seconds(4000) for _ in range(3))
    assert many < 20 * few + 0.3  # 64 times, if it were quadratic
