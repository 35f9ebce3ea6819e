"""Conditions on records, written as people type them into a search box."""
