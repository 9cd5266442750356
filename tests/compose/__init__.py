"""docker-compose.yml and what belongs to it."""
