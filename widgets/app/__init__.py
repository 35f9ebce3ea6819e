"""What `kafka-workbench app` serves: a page with widgets, without Jupyter."""
