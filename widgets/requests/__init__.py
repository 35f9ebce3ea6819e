"""Requests of a server: the live table, and the way of one of them."""
