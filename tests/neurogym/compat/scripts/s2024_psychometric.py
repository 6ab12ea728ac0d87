"""Psychometric curves by context, from the trials of an evaluation."""

import matplotlib.pyplot as plt
import numpy as np
from neurogym.utils.psychometric import plot_psychometric, probit

import neurogym as ngym

env = ngym.make("ContextDecisionMaking-v0", use_expl_context=True, timing={"delay": 100})
env.reset(seed=0)
rows = []
while len(rows) < 200:
    ob, reward, terminated, truncated, info = env.step(env.unwrapped.gt_now)
    if info["new_trial"]:
        rows.append((info["trial"]["context"], info["trial"]["coh_1"], info["trial"]["ground_truth"], info["gt"]))
context, coh, truth, action = np.array(rows).T
figure, axes = plt.subplots(1, 2)
for c, ax in zip((0, 1), axes):
    keep = context == c
    signed = np.where(truth[keep] == 1, -coh[keep], coh[keep])
    plot_psychometric(signed, (action[keep] == 2).astype(int), ax, title=f"context {c}", legend=None)
assert probit(0, 1, 0) == 0.5
assert list(env.unwrapped.contexts) == [0, 1] and set(env.unwrapped.cohs) == {5, 15, 50}
