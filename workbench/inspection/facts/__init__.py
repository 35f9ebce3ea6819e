"""What files of a log directory say, as rows, text and HTML."""
