"""The command `kafka-workbench`: what the workbench can say, in a terminal and as JSON."""
