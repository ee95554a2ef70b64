"""Pages of what happens now."""
