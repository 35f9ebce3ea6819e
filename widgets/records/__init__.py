"""The record browser: a search that is shown, its rows and records, its code, its picture."""
