"""Steps and cleanings as data of the players."""
