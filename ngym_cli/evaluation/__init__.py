"""Fresh trials with frozen weights: evaluations, recordings of activity, perturbations, exports.

Belongs here: what `ngym eval` does. May use: `figures`, `agents`, `runs` and what these use.
"""
