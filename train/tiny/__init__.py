"""A training run that anyone can repeat in minutes: a policy made on the spot, real kernels, a real grader."""
