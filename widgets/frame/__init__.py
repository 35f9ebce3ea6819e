"""The line above all views: the place they show, the way back and forward, and values."""
