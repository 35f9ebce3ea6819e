"""From arrays of the workbench to what the front end draws: pure functions, no Jupyter."""
