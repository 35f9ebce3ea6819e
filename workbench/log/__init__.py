"""One partition's log: segments, producer state, leader epochs, append, read, load, retain.

Three of the modules, `append_origin`, `clock` and `scheduler`, are only aliases of names that moved.
"""
