"""The kernels as one shared library: the table of its entries, how it is built, opened, called."""
