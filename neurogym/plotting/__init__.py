"""Figures of environments and of what a Monitor saved; Matplotlib is imported where a figure is drawn.

Belongs here: what draws. Figures of whole runs are the runner's. May use: `analysis`, `recording`, `spaces`.
"""
