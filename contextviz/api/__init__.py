"""Floor 6: the JSON interface."""
