"""The trainer's side: episodes, records, GRPO. Speaks HTTP to a grader; needs the extra `train` for what trains."""
