"""Questions about a session that goes on: what somebody wants to be told of, and what would go if it compacted now."""
