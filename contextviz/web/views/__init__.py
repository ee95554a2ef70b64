"""Floor 6: one module a page; each lists its own addresses."""
