"""One partition's log: segments, producer state, leader epochs, append, read, load, retain."""
