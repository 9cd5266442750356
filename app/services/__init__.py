"""What the routes call: one function per thing that a client can ask for; knows grading, not HTTP."""
