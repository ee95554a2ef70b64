"""The hosts' own rules: what pi, OpenClaw, Claude Code and Codex do by themselves, and the windows they recorded."""
