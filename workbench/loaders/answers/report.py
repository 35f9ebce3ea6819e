"""One report on log directories for a ticket: what it is, what is wrong, what to do."""

import shlex
from collections.abc import Sequence

from workbench.inspection.brokers import listings_by_broker
from workbench.inspection.listing import opened_paths
from workbench.loaders.answers.facts import Facts
from workbench.loaders.answers.report_page import page
from workbench.loaders.answers.sections import OF_ONE_BROKER, SECTIONS, sections_of, tiles
from workbench.runtime.times import time_or_now, time_text


def report_html(facts: Facts, brokers: Sequence[Facts] = ()) -> str:
    """Return the report as one HTML file.

    Args:
        facts: of all directories.
        brokers: of the directories of each broker, where those of several were opened: each has its
            own answers to what one broker does.

    Raises:
        OSError: a file of the coordinators' topics cannot be read.
    """
    made = f"Made {time_text(time_or_now(facts.now))}; keys and values are not in it."
    names = sections_of(facts)
    sections = [SECTIONS[name](facts, _where(facts)) for name in names]
    numbers = [tile for name in names for tile in tiles(name, facts)]
    for own in brokers:
        told = f"Broker {next(iter(listings_by_broker(own.listing)))}: "
        asked = [SECTIONS[name](own, _where(own)) for name in SECTIONS if name in OF_ONE_BROKER]
        sections += [
            part._replace(title=f"{told}{part.title}", verdict=part.verdict and told + part.verdict)
            for part in asked
        ]
    verdict = " ".join(part.verdict for part in sections if part.verdict)
    return page(", ".join(opened_paths(facts.listing)), verdict, made, numbers, sections)


def _where(facts: Facts) -> str:
    return shlex.join(opened_paths(facts.listing))
