"""From columns to other people's tables: Arrow, pandas, Polars, DuckDB, Parquet and Spark."""
