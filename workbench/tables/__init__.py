"""Every table that users see, each declared once as the class of its rows."""
