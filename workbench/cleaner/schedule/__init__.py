"""Which log is cleaned next, by which thread, how fast, and how far cleaning has got."""
