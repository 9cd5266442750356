"""How good a model is before (or after) training: any model over a split, several turns, every episode on file."""
