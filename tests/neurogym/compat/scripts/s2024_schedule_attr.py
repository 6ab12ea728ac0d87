"""Blocks by ScheduleAttr around RandomGroundTruth, with names that the module of blocks shows."""

import neurogym as ngym
from neurogym.utils.scheduler import RandomBlockSchedule
from neurogym.wrappers.block import RandomGroundTruth, ScheduleAttr, TrialEnv, TrialWrapper, spaces

env = ngym.make("PerceptualDecisionMaking-v0", timing={"stimulus": 200})
env = RandomGroundTruth(env, p=[0.5, 0.5])
env = ScheduleAttr(env, RandomBlockSchedule(2, block_lens=[10, 10]), attr_list=[{"p": (1, 0)}, {"p": (0, 1)}])
env.reset()
sides = []
while len(sides) < 40:
    info = env.step(0)[-1]
    if info["new_trial"]:
        sides.append(info["trial"]["ground_truth"])
assert sides[:10] == [sides[0]] * 10 and set(sides) == {0, 1}
assert isinstance(env.unwrapped, TrialEnv) and isinstance(env, TrialWrapper) and spaces.Box
