"""The summarisers there are: deterministic stand-ins for the language model that an engine would ask."""
