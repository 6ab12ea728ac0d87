"""Learning to explore: regret on bandits with new arms in every session."""
