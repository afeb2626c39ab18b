"""The harnesses that are recorded without a change to them: a folder for each."""
