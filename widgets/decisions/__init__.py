"""What a broker of a version and a configuration would do: to a log, to all logs, at its start."""
