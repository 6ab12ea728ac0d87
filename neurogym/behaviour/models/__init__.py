"""Models of choices: each predicts the next choice from the present stimulus and the past of the session alone."""
