"""Compiled learning: acting, gradients and optimiser steps in C (`README.md` is the guide; torch is not imported here).

- `CompiledAgent.prepare` and `act`: pack the weights, then act on a batch of environments step by step.
- `CompiledAgent.update`: find the gradient of minibatches of sequences, and step down it.
- `apply_adam`: take a single step of Adam on a vector of weights.
- `network.CompiledNetwork`: an agent, or a recurrent network alone, for everything else; `autograd.run` runs it inside
  torch's automatic differentiation, and `steps.Stepper` takes single steps with it.
"""

from ngym_cli.agents.compiled.agent import CompiledAgent, apply_adam

__all__ = ["CompiledAgent", "apply_adam"]
