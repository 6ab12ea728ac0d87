"""0.0.x: everything at the top or in flat modules; lists of what there is."""

from neurogym.envs.delaycomparison import DelayComparison
from neurogym.envs.perceptualdecisionmaking import PerceptualDecisionMaking
from neurogym.utils.random import TruncExp

import neurogym as ngym
from neurogym.core import METADATA_DEF_KEYS, TrialEnv, TrialWrapper, trunc_exp
from neurogym.envs import ALL_ENVS as same
from neurogym.envs.registration import ALL_ENVS
from neurogym.utils import info, tasktools
from neurogym.wrappers import ALL_WRAPPERS
from neurogym.wrappers.trial_hist import TrialHistory

assert ALL_ENVS == same and "PassReward-v0" in ALL_WRAPPERS
for name in ngym.all_envs(tag="timing"):
    assert "timing" in ngym.make(name).unwrapped.metadata["tags"]
print(info.info("DelayComparison-v0"))
print(info.info_wrapper("PassReward-v0"))
assert len(info.all_tags()) > 10 and len(info.all_tasks()) > 20
env = PerceptualDecisionMaking(timing={"stimulus": TruncExp(300, 100, 800), "delay": lambda: 200})
env.reset()
assert 0 < trunc_exp(env.rng, 300, 100, 800) < 800
assert tasktools.to_map("a", "b")["b"] == 1
assert DelayComparison().vmax == 34
