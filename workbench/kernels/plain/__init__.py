"""The kernels in plain Python: twins of the same names in the same folders.

Same arguments, results, codes and positions as the compiled kernels, whose docstrings apply here,
too. They are the readable text, the oracle of the tests, and what runs without numba.
"""
