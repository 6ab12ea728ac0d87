"""What ``ngym new`` writes: a task that works as it stands, to be changed."""
