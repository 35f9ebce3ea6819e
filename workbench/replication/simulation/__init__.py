"""A cluster in one process: brokers, messages, crashes; and the search for what goes wrong."""
