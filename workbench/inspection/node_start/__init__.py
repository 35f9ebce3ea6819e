"""Judge whether a KRaft node starts with the files that it reads before it loads a log."""
