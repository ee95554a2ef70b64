"""Replay strategies: what each context engine would have put into the window (engines document; docs/engines)."""
