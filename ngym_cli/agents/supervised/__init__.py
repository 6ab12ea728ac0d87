"""Supervised learning: the networks of reinforcement learning, trained on ground truth by backpropagation through time.

`material` makes trials in blocks, shows them as a correct agent would see them and says how much each row counts,
`objective` is the loss with a compiled gradient, and `learner` puts them together as an algorithm with the interface of
all others.
"""
