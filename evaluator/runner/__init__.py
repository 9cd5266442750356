"""The hostile side: the zygote forks runners here, and a runner executes one candidate and then dies."""
