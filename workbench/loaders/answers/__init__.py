"""Answers to whole questions, composed of tables: what is stuck, and a report for a ticket."""
