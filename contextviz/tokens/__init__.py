"""Floor 1: how much. Estimators with ids, model windows, prices."""
