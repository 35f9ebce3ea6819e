"""The transaction coordinator: it serves transactional producers and ends their transactions."""
