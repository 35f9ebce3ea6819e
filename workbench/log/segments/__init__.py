"""One segment, all segments of a log, and how segments replace each other."""
