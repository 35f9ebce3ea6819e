"""Transactional ids and their transactions, as a broker loads them."""
