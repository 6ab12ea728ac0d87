"""Table of compiled functions: plain form, caller, and test of equality for each."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

#: Digest of all names and signatures, so that a module from other sources is not called; a test prints the new digest.
ABI = "a403aa0ddbc1a3ed"


class Kernel(NamedTuple):
    """Entry of a compiled function; see the docstrings of source and plain form for the computation."""

    source: str  #: file in C
    plain: str  #: the form in NumPy or torch: `module:name`; of helpers, the function that they help
    caller: str  #: the only place that calls it
    test: str  #: file of the test that holds both equal, for every variant


_ROWS = "neurogym/trials/rows.c"
_ROWS_TEST = "tests/neurogym/trials/test_rows.py"
_LOOPS = "ngym_cli/agents/networks/loops.c"
_LOOPED = "tests/ngym_cli/agents/networks/test_loops.py"
_FUSED = "ngym_cli/agents/algorithms/fused.c"  # agent.c, next to it, computes
_FUSED_TEST = "tests/ngym_cli/agents/algorithms/test_fused.py"
_RUN = "ngym_cli.agents.networks.base:RecurrentNetwork.in_torch"
_ACT = "ngym_cli.agents.algorithms.recurrent_ppo:RolloutAgent._act_in_numpy"
_LEARN = "ngym_cli.agents.algorithms.recurrent_ppo:RecurrentPPO.loss"
_FUSE = "ngym_cli.agents.algorithms.compiled:Fused"
_COMPILED = "ngym_cli.agents.algorithms.compiled:Compiled"

KERNELS: Mapping[str, Kernel] = {
    "advance": Kernel(
        "neurogym/vector/step.c",
        "neurogym.vector.step:in_numpy",
        "neurogym.vector.step:advance",
        "tests/neurogym/vector/test_arrays.py",
    ),
    "distinct": Kernel(
        "neurogym/vector/step.c",
        "neurogym.vector.step:distinct",
        "neurogym.vector.step:distinct",
        "tests/neurogym/vector/test_distinct.py",
    ),
    "rows": Kernel(_ROWS, "neurogym.trials.rows:rows_between", "neurogym.trials.rows:rows_between", _ROWS_TEST),
    "add": Kernel(_ROWS, "neurogym.trials.rows:add", "neurogym.trials.rows:add", _ROWS_TEST),
    "respond": Kernel(_ROWS, "neurogym.trials.rows:Tables.respond", "neurogym.trials.rows:Tables.respond", _ROWS_TEST),
    "answer": Kernel(_ROWS, "neurogym.trials.rows:Tables.answer", "neurogym.trials.rows:Tables.answer", _ROWS_TEST),
    "run_out": Kernel(_ROWS, "neurogym.trials.rows:Tables.run_out", "neurogym.trials.rows:Tables.run_out", _ROWS_TEST),
    "forward": Kernel(_LOOPS, _RUN, "ngym_cli.agents.networks.loops:run", _LOOPED),
    "backward": Kernel(_LOOPS, _RUN, "ngym_cli.agents.networks.loops:run", _LOOPED),
    "packed_size": Kernel(_LOOPS, _RUN, "ngym_cli.agents.networks.steps:Stepper", _LOOPED),
    "sizes": Kernel(_FUSED, _LEARN, _COMPILED, _FUSED_TEST),
    "prepare": Kernel(_FUSED, _LEARN, f"{_FUSE}.act", _FUSED_TEST),
    "act": Kernel(_FUSED, _ACT, f"{_FUSE}.act", _FUSED_TEST),
    "learn": Kernel(_FUSED, _LEARN, f"{_FUSE}.descend", _FUSED_TEST),
    "teach": Kernel(
        _FUSED,
        "ngym_cli.agents.supervised.learner:Supervised.loss",
        "ngym_cli.agents.supervised.objective:SupervisedKernel.gradient",
        "tests/ngym_cli/agents/supervised/test_compiled.py",
    ),
    "adam": Kernel(
        "ngym_cli/agents/networks/descent.c",
        "ngym_cli.agents.networks.descent:Descent.step",
        "ngym_cli.agents.networks.descent:Descent.step",
        "tests/ngym_cli/agents/networks/test_descent.py",
    ),
}


def abi_of(signatures: Mapping[str, str]) -> str:
    """Digest of names and signatures of compiled functions."""
    lines = "".join(f"{name}({signatures[name]})\n" for name in sorted(signatures))
    return hashlib.sha256(lines.encode()).hexdigest()[:16]
