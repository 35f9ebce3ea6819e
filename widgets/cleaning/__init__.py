"""A partition as the cleaner sees it, and a cleaning step by step."""
