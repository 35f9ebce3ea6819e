"""Groups, their members and committed offsets, as a broker loads them."""
