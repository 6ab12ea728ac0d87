"""Train a recurrent agent on random-dots motion, with the last reward as input."""

from common import Predictor, arguments, evaluate, report, train

import neurogym as ngym
from neurogym.wrappers import PassReward

chosen = arguments(__doc__)
timing = {"fixation": ("constant", 300), "stimulus": ("constant", 500), "decision": ("constant", 300)}
traces = ["Fixation cue", "Stim 1", "Stim 2", "Previous reward"]


def make():
    return PassReward(ngym.make("PerceptualDecisionMaking-v0", dt=100, timing=timing))


ngym.plot_env(make(), num_steps=100, ob_traces=traces, fname=chosen.out / "rdm_before")
model = train(make, 6_000 if chosen.fast else 100_000, chosen.seed)
ngym.plot_env(make(), num_steps=100, ob_traces=traces, model=Predictor(model), fname=chosen.out / "rdm_after")
result = evaluate(model, make, 500 if chosen.fast else 2000, chosen.seed)
ceiling = make().unwrapped.ceiling()["performance"]
report(
    "recurrent PPO on random dots, performance", result["performance"].mean(), f"none printed; ceiling {ceiling:.3f}"
)
