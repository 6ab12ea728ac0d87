"""Reuse the variants of papers by id."""

import numpy as np
from common import arguments, evaluate, report

import neurogym as ngym

chosen = arguments(__doc__)
for name in ("perceptualdecisionmaking.ibl20-v0", "perceptualdecisionmaking.roitman02-v0", "yang19.ctxdm1-v0"):
    result = evaluate(None, lambda name=name: ngym.make(name), 500, chosen.seed)
    ngym.plot_env(name, num_trials=3, fname=chosen.out / name.split("-")[0].replace(".", "_"))
    report(f"{name}, random agent", result["performance"].mean(), "none printed")
env = ngym.make("perceptualdecisionmaking.ibl20-v0")
env.reset(seed=chosen.seed)
trials = [env.unwrapped.new_trial() for _ in range(2000)]
truth = np.array([trial["ground_truth"] for trial in trials])
blocks = np.array([trial["side_bias_block"] for trial in trials])
for block in np.unique(blocks):
    report(f"ibl20, block {block}, P(choice 0 is right)", np.mean(truth[blocks == block] == 0), "0.8 or 0.2")
