"""Table of compiled functions: plain form, caller, and test of equality for each."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

#: Digest of all names and signatures, so that a module from other sources is not called; a test prints the new digest.
ABI = "e8b37abbf1bc415e"


class Kernel(NamedTuple):
    """Entry of a compiled function; see the docstrings of source and plain form for the computation."""

    source: str  #: file in C
    plain: str  #: the form in NumPy or torch: `module:name`; of helpers, the function that they help
    caller: str  #: the only place that calls it
    test: str  #: file of the test that holds both equal, for every variant


_COMPILED = "ngym_cli/agents/compiled"
_LEARNING = "ngym_cli.agents.compiled"
_AGENT = f"{_LEARNING}.agent:CompiledAgent"
_PASS = f"{_LEARNING}.network:CompiledNetwork"
_PPO = "ngym_cli.agents.algorithms.recurrent_ppo:RecurrentPPO.loss"
_ACT = "ngym_cli.agents.algorithms.compiled_learner:RolloutAgent"
_NETWORK = "ngym_cli.agents.networks.base:RecurrentNetwork.in_torch"
_PASSES_TEST = "tests/ngym_cli/agents/compiled/test_passes.py"
_NETWORK_TEST = "tests/ngym_cli/agents/compiled/test_network.py"

KERNELS: Mapping[str, Kernel] = {
    "advance": Kernel(
        "neurogym/engine/step.c",
        "neurogym.engine.pools:in_numpy",
        "neurogym.engine.pools:advance",
        "tests/neurogym/vector/test_arrays.py",
    ),
    "add": Kernel(
        "neurogym/trials/rows.c",
        "neurogym.trials.rows:add",
        "neurogym.trials.rows:add",
        "tests/neurogym/trials/test_rows.py",
    ),
    "forward": Kernel(f"{_COMPILED}/network.c", _NETWORK, f"{_PASS}.forward", _NETWORK_TEST),
    "backward": Kernel(f"{_COMPILED}/network.c", _NETWORK, f"{_PASS}.backward", _NETWORK_TEST),
    "sizes": Kernel(f"{_COMPILED}/python.c", _PPO, f"{_LEARNING}.network:AgentSizes.buffer_sizes", _PASSES_TEST),
    "prepare": Kernel(f"{_COMPILED}/python.c", _PPO, f"{_AGENT}.prepare", _PASSES_TEST),
    "act": Kernel(f"{_COMPILED}/python.c", _ACT, f"{_AGENT}.act", _PASSES_TEST),
    "gradient": Kernel(f"{_COMPILED}/python.c", _PPO, f"{_AGENT}.update", _PASSES_TEST),
    "adam": Kernel(
        f"{_COMPILED}/adam.c",
        "ngym_cli.agents.networks.optimizer:Optimizer.step",
        "ngym_cli.agents.compiled.agent:apply_adam",
        "tests/ngym_cli/agents/compiled/test_adam.py",
    ),
}


def abi_of(signatures: Mapping[str, str]) -> str:
    """Digest of names and signatures of compiled functions."""
    lines = "".join(f"{name}({signatures[name]})\n" for name in sorted(signatures))
    return hashlib.sha256(lines.encode()).hexdigest()[:16]
