"""Numbers that are kept in the repository: what made them, whether that has changed since, and making them anew."""
