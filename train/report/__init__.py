"""From a run's rollout files to a report, in HTML and in Markdown: what was learnt, and what was tried instead."""
