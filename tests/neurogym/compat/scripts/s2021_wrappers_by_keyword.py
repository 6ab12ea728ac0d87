"""0.0.x / 1.0.x: the old Monitor and its files, keyword by keyword."""

import glob
import tempfile

import numpy as np

import neurogym as ngym
from neurogym.wrappers import Monitor, PassAction, PassReward, SideBias

folder = tempfile.mkdtemp() + "/"
env = ngym.make("GoNogo-v0", timing={"fixation": 100, "stimulus": 100, "delay": 0, "decision": 100})
env = SideBias(env, probs=[[0.2, 0.8], [0.8, 0.2]], block_dur=20)
env = PassAction(PassReward(env))
env = Monitor(
    env, folder=folder, sv_per=50, sv_stp="trial", sv_fig=False, num_stps_sv_fig=100, name="a", fig_type="png"
)
env.reset()
for _ in range(1000):
    env.step(env.action_space.sample())
files = glob.glob(folder + "*.npz")
assert files, folder
data = np.load(files[0])
assert {"action", "reward"} <= set(data) and len(data["reward"]) == 50
