"""OpenClaw's own logs of its requests: the cache trace, and the trajectory (a sidecar, rows of the store, exported).

They are cut (long bodies are placeholders), so they never stand in for the transcript; what is whole in them, counts,
roles and fingerprints above all, checks the windows that the rules rebuilt and fills what the transcript lacks.
"""
