"""Search records: in the order of time, with progress, in bounded memory, until it is canceled."""
