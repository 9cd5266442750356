"""Stage 1: what can be told from a submission's syntax tree alone, with a remedy for each finding."""
