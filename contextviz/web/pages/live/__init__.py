"""Page objects of what happens now: the cards of sessions that grow, the feed, what was posted and not kept."""
