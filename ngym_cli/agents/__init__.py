"""Learning and acting: networks, algorithms, supervised learning, and weights on disk.

Belongs here: everything that knows torch or Stable-Baselines3. May use: `runs`, `environments`, `config`, `files`.
"""
