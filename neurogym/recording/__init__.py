"""What a Monitor works with: its settings, an agent that it runs, probes of a network, the files that it writes.

Belongs here: running an environment and keeping what happened. The wrapper itself is in `wrappers.monitor`, what
draws in `plotting`. May use: `messages`, `compat`.
"""
