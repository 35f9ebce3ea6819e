"""One partition's log: segments, producer state, leader epochs, append, read, load, retain.

Three of the modules are only aliases of names that moved: `append_origin`, `clock`, `scheduler`.
"""
