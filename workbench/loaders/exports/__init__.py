"""Records as files for other programs: Parquet, CSV and JSON lines."""
