"""Compiled learning: acting, gradients and optimiser steps in C (`README.md` is the guide; torch is not imported here).

- `obstacle`: reason why agents of given sizes cannot use the compiled functions.
- `CompiledAgent.prepare` and `act`: pack the weights, then act on a batch of environments step by step.
- `CompiledAgent.gradient` and `apply`: find the gradient of minibatches of sequences, or step down it as well.
- `apply_adam`: take a single step of Adam on a vector of weights.
- `network.CompiledNetwork`: the recurrent network alone, for everything else; `steps.Stepper` takes single steps with
  it, and `autograd.run` runs it inside torch's automatic differentiation.
"""

from ngym_cli.agents.compiled.agent import AgentSizes, CompiledAgent, apply_adam, obstacle

__all__ = ["AgentSizes", "CompiledAgent", "apply_adam", "obstacle"]
