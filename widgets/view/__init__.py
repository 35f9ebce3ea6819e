"""From the workbench's arrays to the front end's data: pure functions, no Jupyter."""
