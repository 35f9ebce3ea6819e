"""One report on log directories for a ticket: what it is, what is wrong, what to do."""

import shlex

from workbench.foresight.dry_listing import time_or_now
from workbench.inspection.listing import opened_paths
from workbench.loaders.answers.facts import Facts
from workbench.loaders.answers.report_page import page
from workbench.loaders.answers.sections import SECTIONS, tiles
from workbench.runtime.times import time_text


def report_html(facts: Facts) -> str:
    """Return the report as one HTML file.

    Raises:
        OSError: a file of the coordinators' topics cannot be read.
    """
    paths = opened_paths(facts.listing)
    where = " ".join(map(shlex.quote, paths))
    sections = [make(facts, where) for make in SECTIONS.values()]
    numbers = [tile for name in SECTIONS for tile in tiles(name, facts)]
    made = f"Made {time_text(time_or_now(facts.now))}; keys and values are not in it."
    summary = facts.preflight.summary
    return page(", ".join(paths), f"{summary[:1].upper()}{summary[1:]}. {made}", numbers, sections)
