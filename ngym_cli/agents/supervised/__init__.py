"""Supervised learning: the networks of reinforcement learning, trained on ground truth by backpropagation through time.

`material` makes trials in blocks and shows them as a correct agent would see them, `weighting` says how much each row
counts, `layout` lays trials side by side for one kernel call, `objective` is the loss, and `learner` puts them together
as an algorithm with the interface of all others.
"""
