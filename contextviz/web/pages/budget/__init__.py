"""The token budget page."""
