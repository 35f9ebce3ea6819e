"""Find something in a log in few reads: its end, a time, a record, how many there are."""
