"""Archives as directories: `.tar` and `.zip`; nothing is unpacked beside them."""
