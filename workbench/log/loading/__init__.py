"""From the files of a partition directory to a log: leftovers, recovery, producer state."""
