"""Model a reaction-time task with biased blocks."""

import matplotlib.pyplot as plt
import numpy as np
from common import Predictor, arguments, evaluate, report, train

import neurogym as ngym
from neurogym.wrappers import Monitor, PassAction, PassReward, ReactionTime, SideBias

chosen = arguments(__doc__)


def make():
    timing = {"fixation": ngym.TruncExp(600, 400, 700), "stimulus": 2000, "delay": 0, "decision": 100}
    env = ReactionTime(ngym.make("PerceptualDecisionMaking-v0", dt=100, timing=timing), end_on_stimulus=True)
    return SideBias(PassAction(PassReward(env)), probs=[[0.2, 0.8], [0.8, 0.2]], block_dur=(20, 100))


ngym.plot_env(make(), num_trials=5, fname=chosen.out / "ibl_random")
report("random agent", evaluate(None, make, 1000, chosen.seed)["performance"].mean(), "0.481")
steps = 10_000 if chosen.fast else 70_000
model = train(make, steps, chosen.seed, units=128, reset_state="never")
result = evaluate(model, make, 3000, chosen.seed, reset_state="never")
report(f"recurrent PPO, {steps} steps, performance", result["performance"].mean(), "0.784")

config = {"local_dir": chosen.out, "monitor": {"interval": 100, "verbose": False, "plot": {"step": 70}}}
env = Monitor(make(), config=config)
ob, _ = env.reset(seed=chosen.seed)
agent = Predictor(model)
for _ in range(3000):
    ob, *_ = env.step(agent.predict(ob)[0])
env.plot_training_history()

figure = plt.figure(figsize=(4, 3.5), layout="constrained")
ax = figure.add_subplot()
right = result["choice"] == 2
evidence = result["coh"] * np.where(result["ground_truth"] == 1, 1, -1)
for block, favoured in ((0, "right"), (1, "left")):
    use = (result["choice"] != 0) & (result["side_bias_block"] == block)
    beta, alpha = ngym.plot_psychometric(evidence[use], right[use].astype(int), ax, legend=f"{favoured} more often")
    print(f"  block in which {favoured} is more frequent: slope {beta:.3f}, bias {alpha:+.3f}")
figure.savefig(chosen.out / "ibl_psychometric.png")
