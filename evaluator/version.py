"""The grader's version, which every result carries: verdicts of different versions may differ."""

VERSION = "0.1.0"
