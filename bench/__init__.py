"""Measurements of contextviz: sessions of any size, written by us, and one command that prints a table."""
