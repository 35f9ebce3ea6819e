"""Rounds about what is around a command: its disk, its files of options, its language, its date.

Links and directories are changed while it runs; the disk is full, or takes nothing; files of
options are hostile; names are not UTF-8; the date is one that no clock should show.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from tests.campaign.bases import choose_base
from tests.campaign.commands import (
    READING,
    REFUSED,
    WRITING,
    Ended,
    Place,
    Runner,
    content,
    run_alone,
    unfinished,
)
from tests.campaign.file_mutations import NUMBERS, TEXTS, text_changed
from tests.campaign.meddlers import OF_INPUTS, OF_OUTPUTS, PRECIOUS

TRIES: Final = 6  # commands of a round
SWAPPED: Final = "another process has put something else here"
SIZES: Final = ("4k", "16k", "64k", "200k", "1m", "4m")  # of a disk
DATES: Final = ("1970-01-01 00:00:00", "1969-12-31 23:00:00", "2038-01-19 03:14:08",
                "2106-02-07 06:28:16", "2027-01-01 00:00:00")  # fmt: skip
LANGUAGES: Final[tuple[dict[str, str], ...]] = (
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "no_WHERE.ISO-8859-1", "LANG": "xx"},
    {"PYTHONIOENCODING": "latin-1"},
    {"TERM": "dumb", "COLUMNS": "1"},
    {"COLUMNS": "0", "LINES": "-1", "NO_COLOR": ""},
    {"HOME": "/nowhere", "XDG_CACHE_HOME": "", "TMPDIR": "/nowhere"},
    {"TZ": "Nowhere/Else", "TMP": "relative"},
    {"TZ": "Pacific/Apia"},
)
ODD_BYTES: Final = (b"\xff-0", b"caf\xe9-0", b"\xed\xa0\x80-0", b"a\xf0\x9f-7")


@contextmanager
def _place(folder: Path, rng: Random) -> Iterator[Place]:
    """Make a directory by chance, and a folder to write into."""
    cases = folder / "cases"
    cases.mkdir(exist_ok=True)
    within = folder / "place"
    within.mkdir()
    place = Place(within, within / "logs", within / "out")
    choose_base(cases, rng).copy(cases, place.logs)
    place.outer.mkdir()
    try:
        yield place
    finally:
        shutil.rmtree(within)


def _hold_nothing_left(place: Place, ended: Ended) -> None:
    if left := unfinished(place.folder):
        raise ended.fault(f"left {left[0]}")


def change_under_commands(folder: Path, seed: int) -> None:
    """Change a directory at a moment at which a command reads it."""
    rng = Random(seed)
    with Runner() as runner:
        for _ in range(TRIES):
            _change_under_one(folder, rng, runner)


def _change_under_one(folder: Path, rng: Random, runner: Runner) -> None:
    with _place(folder, rng) as place:
        command = rng.choice((*READING, *WRITING))
        moments = runner.run(command, place).moments
        shutil.rmtree(place.outer)
        place.outer.mkdir()
        meddled = rng.randrange(moments), rng.choice(OF_INPUTS), rng.randrange(2**32)
        _hold_nothing_left(place, runner.run(command, place, meddled))


def swap_links(folder: Path, seed: int) -> None:
    """Put links in the place of what a command writes: what they lead to does not change.

    Commands that change a copy go on in what stands in its place, and say so at their end.

    Raises:
        CommandFaultError: it does.
    """
    rng = Random(seed)
    with Runner() as runner:
        for _ in range(TRIES):
            _swap_under_one(folder, rng, runner)


def _swap_under_one(folder: Path, rng: Random, runner: Runner) -> None:
    with _place(folder, rng) as place:
        precious = place.folder / PRECIOUS
        shutil.copytree(place.logs, precious)
        command = rng.choice(WRITING)
        moments = runner.run(command, place).moments
        shutil.rmtree(place.outer)
        place.outer.mkdir()
        before, logs = content(precious), content(place.logs)
        meddled = rng.randrange(moments), rng.choice(OF_OUTPUTS), rng.randrange(2**32)
        ended = runner.run(command, place, meddled)
        for name, now, then in (
                ("precious", content(precious), before), ("logs", content(place.logs), logs),
            ):  # fmt: skip
            lost = [path for path, what in then.items() if now.get(path, 0) != what]
            if lost and not (ended.code == REFUSED and SWAPPED in ended.err):
                raise ended.fault(f"{meddled}: {name}/{lost[0]} changed")


def fill_disks(folder: Path, seed: int) -> None:
    """Let the disk of a command be full, or take nothing.

    Raises:
        CommandFaultError: it says that it is done, or leaves a part.
    """
    rng = Random(seed)
    for _ in range(TRIES):
        with _place(folder, rng) as place:
            command, about = rng.choice(WRITING), rng.choice(("size", "size", "inodes", "ro"))
            size = rng.choice(SIZES)
            options = {"size": f"size={size}", "inodes": f"nr_inodes={rng.choice((2, 3, 5, 20))}",
                       "ro": "ro"}[about]  # fmt: skip
            left = place.folder / "left"
            script = (
                f'mount -t tmpfs -o {options} tmpfs "$0" || exit 9; "$@"; code=$?; '
                f'find "$0" > "{left}"; exit $code'
            )
            before = ("unshare", "-rm", "sh", "-c", script, str(place.outer))
            ended = run_alone(command, place, before=before)
            names = left.read_text().splitlines()
            if any(name.endswith(".unfinished") for name in names):
                raise ended.fault(f"{options}: a part is left")
            if ended.code == 3 and command[0] != "to-table" and len(names) > 1:
                raise ended.fault(f"{options}: {names[1]} is left")
            is_nothing = "there is no topic but those that brokers make" in ended.err
            if about == "ro" and ended.code != 3 and not is_nothing:
                raise ended.fault("a disk that takes nothing")
    with Runner() as runner:
        for _ in range(TRIES):
            with _place(folder, rng) as place:
                runner.run(rng.choice(READING), place, out="/dev/full")


def speak_other_languages(folder: Path, seed: int) -> None:
    """Run commands in other locales, at odd dates, on odd names.

    Raises:
        CommandFaultError: they print something else there.
    """
    rng = Random(seed)
    for _ in range(TRIES):
        with _place(folder, rng) as place:
            if rng.random() < 0.5:
                _name_oddly(place, rng)
            command = rng.choice((*READING, *READING, *WRITING))
            plain = run_alone(command, place)
            shutil.rmtree(place.outer)
            place.outer.mkdir()
            if rng.random() < 0.6:
                language = rng.choice(LANGUAGES)
                ended = run_alone(command, place, language)
                is_same = (ended.code, ended.out) == (plain.code, plain.out)
                if not is_same and "PYTHONIOENCODING" not in language and "--json" in command:
                    raise ended.fault(f"in {language}, something else is printed")
            else:
                date = ("faketime", "-f", f"@{rng.choice(DATES)}")
                run_alone(command, place, before=date)


def _name_oddly(place: Place, rng: Random) -> None:
    """Give a partition, or the directory, a name that is not UTF-8."""
    (folder, *_) = sorted(path for path in place.logs.iterdir() if path.is_dir())
    odd = os.fsencode(place.logs) + b"/" + rng.choice(ODD_BYTES)
    os.rename(os.fsencode(folder), odd)


def hostile_text(rng: Random) -> bytes:
    """Return lines that an option might name, damaged; or nothing like it."""
    lines = rng.choice((
        b"orders value.email hash\norders key drop\n* value first 3\n",
        b"ada:countess\nbob:builder\n",
        b"cleanup.policy=compact\norders:retention.ms=7d\nlog.dirs=/x\n",
        b'{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}\n',
        b'{"type": "object", "properties": {"a": {"type": "string"}}}\n',
        b'syntax = "proto3"; message M { int32 a = 1; }\n',
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ))  # fmt: skip
    match rng.randrange(7):
        case 0:
            return rng.randbytes(300)
        case 1:
            return lines * rng.choice((1, 20_000))
        case 2:
            return b"\xef\xbb\xbf" + lines.replace(b"\n", b"\r")
        case 3:
            return lines.decode().encode("utf-16")
        case 4:
            return rng.choice((b"[", b'{"a":', b"message M {", b"((")) * 50_000
        case _:
            for _ in range(rng.choice((1, 3))):
                lines = text_changed(lines, rng)
            return lines


def _hostile_file(place: Place, rng: Random) -> Path:
    """Make a file that an option will name."""
    path = place.folder / rng.choice(("options", "a.avsc", "a.json", "a.proto", "\x1b[31m", "é"))
    match rng.randrange(9):
        case 0:
            os.mkfifo(path)
        case 1:
            path.mkdir()
            (path / "a.proto").write_bytes(hostile_text(rng))
        case 2:
            path.symlink_to(
                rng.choice((path.name, "/dev/zero", "/dev/full", "/proc/self/mem", "."))
            )
        case 3:
            path.touch()
            os.truncate(path, rng.choice((1 << 20, 3 << 30)))
        case _:
            path.write_bytes(hostile_text(rng))
    return path


NAMING: Final[tuple[tuple[str, ...], ...]] = (
    ("export", "LOGS", "--to", "OUT/records.csv", "--mask", "FILE"),
    ("sql", "LOGS", "select * from records", "--mask", "FILE"),
    ("to-table", "LOGS", "--to", "OUT/lake", "--mask", "FILE"),
    ("to-table", "LOGS", "--to", "OUT/lake", "--types", "orders=FILE", "--value-format", "json"),
    ("to-table", "LOGS", "--to", "OUT/lake", "--mask", "FILE", "--value-format", "json"),
    ("dump", "LOGS", "--json", "--value-format", "avro:FILE"),
    ("dump", "LOGS", "--json", "--value-format", "json_schema:FILE"),
    ("dump", "LOGS", "--json", "--value-format", "protobuf:FILE"),
    ("search", "a", "LOGS", "--key-format", "avro:FILE"),
    ("export", "LOGS", "--to", "OUT/records.parquet", "--value-format", "protobuf:FILE"),
    ("serve", "LOGS", "--passwords", "FILE", "--advertised", "HOST"),
    ("serve", "LOGS", "--certificate", "FILE", "--advertised", "HOST"),
    ("serve", "LOGS", "--writable", "--config", "FILE", "--advertised", "HOST"),
    ("serve", "LOGS", "--remote", "FILE", "--remote-key", "a=FILE", "--advertised", "HOST"),
    ("ls", "LOGS", "--remote", "FILE"),
    ("ls", "FILE"),
    ("explain", "LOGS", "--set", "TEXT", "--now", "2027-01-01"),
    ("what-if", "LOGS", "--set", "TEXT", "--now", "2027-01-01"),
    ("predict", "LOGS", "--set", "TEXT", "--now", "2027-01-01"),
    ("dump", "LOGS", "--since", "TEXT"),
    ("dump", "LOGS", "-t", "TEXT", "-p", "TEXT"),
    ("search", "TEXT", "LOGS"),
    ("sql", "LOGS", "TEXT"),
    ("what-if", "LOGS", "--set", "retention.ms=1", "--now", "TEXT"),
)  # fmt: skip
"""Commands that are told the name of a hostile file, or a hostile text."""


def give_hostile_options(folder: Path, seed: int) -> None:
    """Name hostile files, and give hostile texts, to every option that takes one."""
    rng = Random(seed)
    with Runner() as runner:
        for _ in range(TRIES):
            _give_one(folder, rng, runner)


def _give_one(folder: Path, rng: Random, runner: Runner) -> None:
    with _place(folder, rng) as place:
        file = str(_hostile_file(place, rng))
        name = rng.choice(("retention.ms", "cleanup.policy", "x", "orders:segment.bytes", ""))
        text = rng.choice((*NUMBERS[:-1], *TEXTS[:-1])).replace("\0", "\x01")[:50_000]
        text = rng.choice((f"{name}={text}", text or "=", hostile_text(rng)[:50_000].hex()))
        command = [
            word.replace("FILE", file).replace("TEXT", text).replace("HOST", "nowhere:0:x")
            for word in rng.choice(NAMING)
        ]
        _hold_nothing_left(place, runner.run(command, place))


COMMAND_ROUNDS: Final[dict[str, Callable[[Path, int], None]]] = {
    "change under commands": change_under_commands,
    "swap links": swap_links,
    "fill disks": fill_disks,
    "speak other languages": speak_other_languages,
    "give hostile options": give_hostile_options,
}
"""By name."""
