"""From columns to tables of other libraries: Arrow, pandas, Polars, DuckDB, Parquet and Spark."""
