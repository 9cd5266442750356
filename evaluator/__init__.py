"""Grades one kernel submission on one device; a library that knows no web framework, queue or database."""
