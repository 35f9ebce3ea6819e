"""The names of the tabs of `Workbench` that its code asks for."""

from typing import Final

OVERVIEW: Final = "Overview"
EXPLORE: Final = "Explore"
RECORDS: Final = "Records"
SQL: Final = "SQL"
CLEANING: Final = "Cleaning"
RETENTION: Final = "Retention"
WHAT_IF: Final = "What if"
GROUPS: Final = "Groups"
REPLICAS: Final = "Replicas"
TRANSACTIONS: Final = "Transactions"
DISK: Final = "Disk"
CLUSTER: Final = "Cluster"
FINDINGS: Final = "Findings"
STEPS: Final = "Steps"
