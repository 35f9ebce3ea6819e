"""The pages that `make bench` writes, and their drawing."""

import re
from pathlib import Path

from tests.benchmarks import drawing
from tests.benchmarks.__main__ import NAMES, with_section

BENCHMARKS = Path(drawing.__file__).parent


def test_a_section_takes_the_place_of_its_former_one_and_leaves_the_others() -> None:
    page = with_section(with_section("", "engine", "first\n"), "decode", "| a |\n")
    again = with_section(page, "engine", "second\n")
    assert again == page.replace("first", "second")
    assert with_section(page, "spark", "third").endswith("first\n\n## spark\n\nthird\n")
    assert page.index("## decode") < page.index("## engine")


def test_ratios_are_read_from_the_tables_of_their_benchmark() -> None:
    tables = {
        "decode": "| values | JVM loop |\n|---|---|\n| 100 B | 1.50x |\n",
        "engine": "**t**\n\n| what | CPU |\n|---|---|\n| 1 GiB, one thread | 2x |\n| 1 B | 9x |\n",
        "requests": "| request | ratio |\n|---|---|\n| 16 KB | 4.00 |\n",
    }
    page = ""
    for name, text in tables.items():
        page = with_section(page, name, text)
    found = {each.label: ratio for each, ratio in drawing.ratios(page).items()}
    assert found == {
        "decode values of 100 B / the JVM's loop": 1.5,
        "recover 1 GiB / Kafka": 2.0,
        "Produce of 16 KB / a broker": 0.25,
    }
    newest = drawing.drawing({"0.1.0": {}, "0.2.0": drawing.ratios(page)})
    at = [float(each) for each in re.findall(r'<circle cx="([\d.]+)"', newest)]
    assert at[2] < at[0] < at[1]  # slower than the peer, faster, faster still


def test_every_measure_names_what_its_benchmark_prints() -> None:
    for measure in drawing.MEASURES:
        assert measure.section in NAMES
        names = f"bench_{measure.section}.py", "bench_engine.py", "bench_spark.py"
        sources = [BENCHMARKS / name for name in names]
        text = "".join(source.read_text(encoding="utf-8") for source in sources)
        assert f'"{measure.column}"' in text or measure.column in text, measure
        if measure.section == "decode":
            assert measure.row.removesuffix(" B") in text, measure
        else:
            assert f'"{measure.row}"' in text or f"{measure.row} = " in text, measure


def test_the_drawing_is_that_of_the_kept_pages() -> None:
    assert drawing.DRAWING.read_text(encoding="utf-8") == drawing.drawing(drawing.versions())
