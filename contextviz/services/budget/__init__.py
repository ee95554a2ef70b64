"""Budget tables, and the prices and windows that hold here."""
