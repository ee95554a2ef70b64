"""Floor 2: readers of transcript formats and stores. Pure: no framework, no network, never writes to its input."""
