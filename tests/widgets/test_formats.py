"""Sizes, parts, durations and times read the same in Python and in the front end."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from widgets._assets import STATIC
from workbench.runtime.times import duration_text, time_text
from workbench.runtime.words import share_text, size_text

TEXTS: Final[dict[str, tuple[Callable[[Any], str], dict[float, str]]]] = {
    "bytes": (size_text, {
        0: "0 B", 1: "1 B", 999: "999 B", 1000: "1,000 B", 1023: "1,023 B", 1024: "1 KiB",
        1280: "1.3 KiB", 1536: "1.5 KiB", 10_188: "9.9 KiB", 10_189: "10 KiB", 10_240: "10 KiB",
        10_752: "11 KiB", 1_048_063: "1,023 KiB", 1_048_064: "1 MiB", 1 << 20: "1 MiB",
        1_100_000: "1 MiB", 1_150_000: "1.1 MiB", 805_306_368: "768 MiB", 5 << 30: "5 GiB",
        1 << 40: "1 TiB", 3 << 49: "1.5 PiB", 1 << 62: "4,096 PiB", -1536: "-1.5 KiB",
    }),
    "share": (share_text, {
        0: "0 %", 0.0004: "<0.1 %", 0.001: "0.1 %", 0.05: "5 %", 0.0512: "5.1 %",
        0.0995: "10 %", 0.125: "13 %", 0.5: "50 %", 1: "100 %", 12.5: "1,250 %",
    }),
    "duration": (duration_text, {
        0: "0 ms", 0.01: "<0.1 ms", 0.25: "0.3 ms", 12: "12 ms", 999.4: "999 ms", 999.5: "1 s",
        1500: "1.5 s", 59_400: "59 s", 59_500: "1 min", 90_000: "1.5 min", 3_570_000: "1 h",
        7_200_000: "2 h", 169_200_000: "47 h", 171_000_000: "2 days", 604_800_000: "7 days",
        302_400_000: "3.5 days", -172_800_000: "-2 days", 1e13: "115,741 days",
    }),
    "timestamp": (time_text, {
        -1: "none", 0: "1970-01-01T00:00:00.000Z", 1_795_700_000_001: "2026-11-26T13:33:20.001Z",
        253_402_300_799_999: "9999-12-31T23:59:59.999Z",
        253_402_300_800_000: "253,402,300,800,000 ms", -2: "-2 ms",
        1_764_086_400_000_000:
            "1,764,086,400,000,000 ms (in microseconds: 2025-11-25T16:00:00.000Z)",
        1_764_086_400_123_456_789:
            "1,764,086,400,123,456,789 ms (in nanoseconds: 2025-11-25T16:00:00.123Z)",
        9_223_372_036_854_775_807: "9,223,372,036,854,775,807 ms",
    }),
}  # fmt: skip
"""Function of the front end → Python's, and a text for each value."""

PAGE: Final = """
import { readFileSync } from "node:fs";
const formats = await import(process.argv[2]);
const valueOf = (text) => (/^-?\\d{16,}$/.test(text) ? BigInt(text) : Number(text));
const all = Object.entries(JSON.parse(readFileSync(0, "utf-8")));
console.log(JSON.stringify(Object.fromEntries(
  all.map(([name, values]) => [name, values.map((text) => formats[name](valueOf(text)))]),
)));
"""


def test_python_writes_the_planted_texts() -> None:
    for write, texts in TEXTS.values():
        assert {value: write(value) for value in texts} == texts


def test_the_front_end_writes_the_planted_texts(tmp_path: Path) -> None:
    node = shutil.which("node")
    assert node, "install Node.js 20 or newer to test the front end"
    (tmp_path / "page.mjs").write_text(PAGE)
    done = subprocess.run(
        [node, str(tmp_path / "page.mjs"), (STATIC / "shared/format.js").as_uri()],
        input=json.dumps({name: [*map(str, texts)] for name, (_, texts) in TEXTS.items()}),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {name: [*texts.values()] for name, (_, texts) in TEXTS.items()}
