"""The real services that tests run against, each started for one test session and stopped with it."""
