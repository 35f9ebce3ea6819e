"""The page of a report: one HTML file, light and dark, wide and narrow, without any script."""

import re
from collections.abc import Sequence
from html import escape
from typing import Final, Literal, NamedTuple

from workbench.inspection.findings import Finding
from workbench.runtime.words import safe, share_text


class Badge(NamedTuple):
    """A word with a color.

    Attributes:
        text: the word.
        tone: "good", "warn", "bad" or "calm".
    """

    text: str
    tone: str


class Bar(NamedTuple):
    """A share, drawn as a bar.

    Attributes:
        share: 0 to 1.
    """

    share: float


class Tile(NamedTuple):
    """A number at the top of the page.

    Attributes:
        label: what it counts.
        value: the number, as text.
        tone: see `Badge`.
        leads: where it leads: "error" or "warning", findings of that severity; "loss", to what a
            start takes; empty: to its section.
    """

    label: str
    value: str
    tone: str
    leads: Literal["", "error", "warning", "loss"] = ""


Cell = str | int | Badge | Bar | None
Row = Sequence[Cell]


class Target(NamedTuple):
    """Where a row of a section leads: to what a view of the same directories can show.

    Attributes:
        partition: a partition by its name; None: none.
        topic: a topic.
        group: a group.
        what: of something that is stuck, what it is, see `StuckRow`; of a log that only retention
            shortens, `BY_RETENTION`.
        finding: a finding.
        times: [from, to) in ms.
    """

    partition: str | None = None
    topic: str | None = None
    group: str | None = None
    what: str | None = None
    finding: Finding | None = None
    times: tuple[int, int] | None = None


class Section(NamedTuple):
    """A part of the page.

    Attributes:
        title: its heading, a question where it is one.
        command: the command that gives the numbers.
        notes: sentences above the table.
        headings: of the table.
        rows: one cell per heading each.
        left: a line below the table; empty for none.
        concerns: what is in the way, each with its badge.
        steps: what to do, in order.
        targets: where the rows lead, one per row; empty: nowhere. The page does not use them.
        verdict: one sentence that sums up the whole page; empty: another part has it.
    """

    title: str
    command: str
    notes: Sequence[str]
    headings: Sequence[str]
    rows: Sequence[Row]
    left: str = ""
    concerns: Sequence[tuple[Badge, str]] = ()
    steps: Sequence[str] = ()
    targets: Sequence[Target] = ()
    verdict: str = ""


def page(
    title: str, verdict: str, made: str, tiles: Sequence[Tile], sections: Sequence[Section]
) -> str:
    """Return the page; every text is escaped, and characters that are not visible are shown."""
    links = "".join(
        f'<a href="#part-{at}">{_text(part.title)}</a>' for at, part in enumerate(sections)
    )
    cards = "".join(
        f'<div class="tile {tile.tone}"><b>{_text(tile.value)}</b><span>{_text(tile.label)}</span>'
        "</div>"
        for tile in tiles
    )
    body = "\n".join(_section(at, part) for at, part in enumerate(sections))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{_text(title)}: report</title>
<style>{_STYLE}</style>
</head>
<body>
<header>
<p class="kind">Kafka Log Workbench: report</p>
<h1>{_text(title)}</h1>
<p class="summary">{_text(verdict)}</p>
<p class="made">{_text(made)}</p>
<div class="tiles">{cards}</div>
<nav aria-label="Parts of the report">{links}</nav>
</header>
<main>
{body}
</main>
</body>
</html>
"""


def _section(at: int, part: Section) -> str:
    notes = "".join(f"<p>{_text(note)}</p>" for note in part.notes)
    concerns = "".join(
        f"<li>{_cell(badge)}<span>{_text(what)}</span></li>" for badge, what in part.concerns
    )
    steps = "".join(f"<li>{_text(step)}.</li>" for step in part.steps)
    return f"""<section id="part-{at}" aria-labelledby="title-{at}">
<h2 id="title-{at}">{_text(part.title)}</h2>
{notes}
{f'<ul class="concerns">{concerns}</ul>' if concerns else ""}
{f'<div class="steps"><h3>What to do</h3><ol>{steps}</ol></div>' if steps else ""}
{_table(part)}
{f'<p class="left">{_text(part.left)}</p>' if part.left else ""}
<p class="command"><code>{_text(part.command)}</code></p>
</section>"""


def _table(part: Section) -> str:
    if not part.rows:
        return ""
    numeric = [all(isinstance(row[at], int | None) for row in part.rows) or _SIZES.issuperset(
        {str(row[at])[-1:] for row in part.rows}) for at in range(len(part.headings))]  # fmt: skip
    head = "".join(
        f'<th scope="col"{_number(is_number)}>{_text(name)}</th>'
        for name, is_number in zip(part.headings, numeric, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_number(is_number)}{_wide(cell)}>{_cell(cell)}</td>"
            for cell, is_number in zip(row, numeric, strict=True)
        )
        + "</tr>"
        for row in part.rows
    )
    return (
        f'<div class="table" tabindex="0" role="region" aria-label="{_text(part.title)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _number(is_number: bool) -> str:  # noqa: FBT001 - of a column
    return ' class="number"' if is_number else ""


def _wide(cell: Cell) -> str:
    if not isinstance(cell, str) or len(cell) <= _LONG_NAME:
        return ""
    if not any(map(str.isspace, cell)):
        return ' data-name=""'
    return ' data-long=""' if len(cell) > _LONG else ""


def _cell(cell: Cell) -> str:
    if cell is None or cell == "":
        return '<span class="none">–</span>'
    if isinstance(cell, Badge):
        return f'<span class="badge {cell.tone}">{_text(cell.text)}</span>'
    if isinstance(cell, Bar):
        return (
            f'<span class="bar"><i style="width:{100 * cell.share:.1f}%"></i></span>'
            f'<span class="share">{_text(share_text(cell.share))}</span>'
        )
    if isinstance(cell, int):
        return f"{cell:,}"
    return _PLACES.sub(r"\g<0><wbr>", _text(cell)) if "name" in _wide(cell) else _text(cell)


def _text(text: str) -> str:
    return escape(safe(text))


_LONG: Final = 20  # characters; longer text may take several lines
_LONG_NAME: Final = 16  # characters; longer names may, which break where a part of them ends
_PLACES: Final = re.compile("[-._/]+")
_SIZES: Final = frozenset("B")  # how texts of sizes end

_STYLE: Final = """
:root{--bg:#f6f7f9;--card:#fff;--ink:#1b2330;--soft:#566072;--line:#e1e5eb;--accent:#2457c5;
--good:#116b3a;--good-bg:#e2f4e8;--warn:#835000;--warn-bg:#fdf0d5;--bad:#b3211f;--bad-bg:#fde6e4;
--calm:#3d4a5f;--calm-bg:#e8ecf2;
--shadow:0 1px 2px rgba(20,30,50,.06),0 4px 16px rgba(20,30,50,.05)}
@media(prefers-color-scheme:dark){:root{--bg:#10141b;--card:#181e28;--ink:#e6eaf1;--soft:#a2adbf;
--line:#2b3444;--accent:#8fb4ff;--good:#7fdca2;--good-bg:#143524;--warn:#f3c56b;--warn-bg:#3a2b0c;
--bad:#ff9d97;--bad-bg:#451c1b;--calm:#c3ccdb;--calm-bg:#263041;--shadow:none}}
*{box-sizing:border-box}
html{scroll-behavior:smooth}
@media(prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--bg);color:var(--ink);
font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
header,main{max-width:1180px;margin:0 auto;padding:0 24px}
header{padding-top:40px}
.kind{margin:0;color:var(--soft);font-size:13px;letter-spacing:.02em}
h1{margin:4px 0 10px;font-size:26px;line-height:1.25;overflow-wrap:anywhere}
h2{margin:0 0 10px;font-size:19px}
h3{margin:0 0 4px;font-size:14px}
p{margin:0 0 10px;max-width:76ch;overflow-wrap:anywhere}
.summary{font-size:17px;max-width:90ch}
.made{color:var(--soft);font-size:13.5px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(132px,1fr));gap:12px;margin:20px 0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:14px 16px;
box-shadow:var(--shadow);border-top:3px solid currentColor}
.tile b{display:block;font-size:22px;line-height:1.3;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:13px}
.good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}.calm{color:var(--calm)}
nav{display:flex;flex-wrap:wrap;gap:6px 18px;padding:0 0 20px;font-size:14px}
a{color:var(--accent)}
section{background:var(--card);border:1px solid var(--line);border-radius:14px;
box-shadow:var(--shadow);padding:22px 24px 14px;margin:0 0 20px;scroll-margin-top:12px}
.concerns{list-style:none;padding:0;margin:0 0 14px;display:grid;gap:8px}
.concerns li{display:grid;grid-template-columns:82px minmax(0,1fr);gap:12px;align-items:start;
overflow-wrap:anywhere;max-width:120ch}
.concerns .badge{text-align:center}
.steps{border-left:3px solid var(--accent);padding:2px 0 2px 16px;margin:0 0 16px}
.steps ol{margin:0;padding-left:20px;max-width:100ch;overflow-wrap:anywhere}
.steps li{margin:4px 0}
.badge{display:inline-block;border-radius:999px;padding:0 9px;font-size:12.5px;line-height:21px;
font-weight:600;white-space:nowrap}
.badge.good{background:var(--good-bg)}.badge.warn{background:var(--warn-bg)}
.badge.bad{background:var(--bad-bg)}.badge.calm{background:var(--calm-bg)}
.table{overflow:auto;max-height:max(560px,80vh);margin:6px -8px 12px;border-radius:8px}
.table:focus-visible{outline:2px solid var(--accent)}
table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:7px 10px;border-bottom:1px solid var(--line);
white-space:nowrap}
thead th{position:sticky;top:0;background:var(--card);color:var(--soft);font-weight:600;
font-size:12.5px;box-shadow:inset 0 -1px 0 var(--line)}
tbody tr:last-child td{border-bottom:0}
td[data-long]{white-space:normal;min-width:12ch;overflow-wrap:anywhere}
td[data-name]{white-space:normal;min-width:11ch;overflow-wrap:anywhere}
td{max-width:44ch}
.number{text-align:right}
.none{color:var(--soft)}
.bar{display:inline-block;width:110px;height:8px;border-radius:4px;background:var(--calm-bg);
overflow:hidden;vertical-align:middle;margin-right:10px}
.bar i{display:block;height:100%;background:var(--accent);border-radius:4px}
.share{color:var(--soft)}
.left{color:var(--soft);font-size:13.5px}
.command{margin:0;color:var(--soft)}
code{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color:var(--soft);
overflow-wrap:anywhere}
code::before{content:"$ ";user-select:none}
@media(max-width:640px){header,main{padding:0 14px}header{padding-top:24px}h1{font-size:21px}
section{padding:18px 16px 12px}.tiles{grid-template-columns:repeat(2,1fr)}.bar{width:64px}}
@media print{body{background:#fff}section,.tile{box-shadow:none;break-inside:avoid-page}
.table{max-height:none;overflow:visible}nav{display:none}}
"""
