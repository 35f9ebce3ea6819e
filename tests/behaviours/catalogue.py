"""The behaviours that Kafka's own storage tests assert, by their numbers.

The letters are those of Kafka's tests; the modules beside this one say which. A test that holds a
behaviour names its number in its docstring.
"""

from typing import Final

from tests.behaviours.of_cleaning import CLEANING
from tests.behaviours.of_coordinators import COORDINATORS, NOT_OF_COORDINATORS
from tests.behaviours.of_engine import ENGINE
from tests.behaviours.of_files import FILES
from tests.behaviours.of_logs import LOGS, NOT_OF_LOGS
from tests.behaviours.of_records import NOT_OF_RECORDS, RECORDS
from tests.behaviours.of_replication import NOT_OF_REPLICATION, REPLICATION

BEHAVIOURS: Final[dict[str, str]] = {
    **RECORDS,
    **FILES,
    **LOGS,
    **ENGINE,
    **CLEANING,
    **COORDINATORS,
    **REPLICATION,
}
LETTERS: Final = sorted({number.partition("-")[0] for number in BEHAVIOURS})

DO_NOT_APPLY: Final[dict[str, str]] = {
    **NOT_OF_RECORDS,
    **NOT_OF_LOGS,
    **NOT_OF_COORDINATORS,
    **NOT_OF_REPLICATION,
}
