"""Parts of a Monitor: evaluation of an agent, probes of a network, output files.

Belongs here: running an environment and keeping what happened. The wrapper itself is in `wrappers.monitor`, what
draws in `plotting`. May use: `messages`, `compat`.
"""
