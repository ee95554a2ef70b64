"""What the readers of plain conversations share: content parts to blocks, vendors' usage, documents, and a draft
that pairs tool calls, keeps the windows and checks the times. No reader by itself."""
