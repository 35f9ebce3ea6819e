"""Loops over arrays: compiled with numba, each with a plain twin in `plain`; `dispatch` chooses."""
