"""Commands on groups and transactional ids."""
