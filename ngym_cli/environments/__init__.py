"""From a configuration to environments that an agent can be trained in.

Belongs here: building the task with its wrappers, the batch that Stable-Baselines3 sees, wrappers that an evaluation
puts around a task. May use: `config`, `files`, the toolkit.
"""
