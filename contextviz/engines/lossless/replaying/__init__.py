"""The rules as a replay engine: messages in, windows out, with sums and parts carried from call to call."""
