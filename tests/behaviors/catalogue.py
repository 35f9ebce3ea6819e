"""The behaviors that Kafka's own storage tests assert, by their numbers.

The letters are those of Kafka's tests; the modules beside this one say which. A test that holds a
behavior names its number in its docstring.
"""

from typing import Final

from tests.behaviors.of_cleaning import CLEANING
from tests.behaviors.of_coordinators import COORDINATORS, NOT_OF_COORDINATORS
from tests.behaviors.of_engine import ENGINE
from tests.behaviors.of_files import FILES
from tests.behaviors.of_logs import LOGS, NOT_OF_LOGS
from tests.behaviors.of_records import NOT_OF_RECORDS, RECORDS
from tests.behaviors.of_replication import NOT_OF_REPLICATION, REPLICATION

BEHAVIORS: Final[dict[str, str]] = {
    **RECORDS,
    **FILES,
    **LOGS,
    **ENGINE,
    **CLEANING,
    **COORDINATORS,
    **REPLICATION,
}
LETTERS: Final = sorted({number.partition("-")[0] for number in BEHAVIORS})

DO_NOT_APPLY: Final[dict[str, str]] = {
    **NOT_OF_RECORDS,
    **NOT_OF_LOGS,
    **NOT_OF_COORDINATORS,
    **NOT_OF_REPLICATION,
}
