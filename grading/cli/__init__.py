"""The operator's command line, `python -m grading.cli`: one file per noun, no state of its own."""
