"""Floor 0: what happened. Plain values and their grammars; knows the standard library and nothing else."""
