"""Starts a whole installation on one machine with one command, and stops all of it."""
