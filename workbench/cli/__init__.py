"""The command `kafka-workbench`: the workbench in a terminal, with output for people or as JSON."""
