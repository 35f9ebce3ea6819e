"""Spark jobs over log directories: each a function of a session and a path; Spark distributes."""
