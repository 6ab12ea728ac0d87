"""Compare reinforcement and supervised learning on context-dependent decisions; draw psychometric curves."""

import matplotlib.pyplot as plt
import numpy as np
from common import arguments, evaluate, last_step, report, supervised, train

import neurogym as ngym
from neurogym.utils.data import Dataset

chosen = arguments(__doc__)
DELAYS = {"no delay": 0, "delay": ngym.TruncExp(600, 300, 3000)}
#: The printed results are of trials of 11 steps, that is without the delay; with it learning takes longer.
BUDGETS = {"no delay": (175_000, 1000), "delay": (500_000, 4000)}


def curves(trials: dict[str, np.ndarray], fname: str) -> None:
    """P(right) against signed evidence of each modality, one panel per context."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
    answered = trials["choice"] != 0
    right = trials["choice"] == 2
    for context, ax in enumerate(axes):
        use = answered & (trials["context"] == context)
        truth = np.where(trials["ground_truth"] == 2, 1, -1)
        other_side = np.where(trials["other_choice"] == 2, 1, -1)
        for modality in (0, 1):
            evidence = trials[f"coh_{modality + 1}"] * (truth if modality == context else other_side)
            beta, _ = ngym.plot_psychometric(
                evidence[use], right[use].astype(int), ax, legend=f"modality {modality + 1}"
            )
            relevant = "relevant" if modality == context else "irrelevant"
            print(f"  context {context}, {relevant} modality: slope {beta:.3f}")
        ax.set_title(f"context {context}")
    figure.savefig(chosen.out / fname)


for name, delay in DELAYS.items():
    timing = {"fixation": 300, "stimulus": 750, "delay": delay, "decision": 100}

    def make(timing=timing):
        return ngym.make("ContextDecisionMaking-v0", dt=100, use_expl_context=True, sigma=1, timing=timing)

    steps, updates = (10_000, 100) if chosen.fast else BUDGETS[name]
    printed = name == "no delay"
    example = make()
    example.reset(seed=chosen.seed)
    stats = example.unwrapped.trial_length_stats(1000)
    random = evaluate(None, make, 1000, chosen.seed)["performance"].mean()
    report(f"{name}, random agent", random, "0.312 to 0.345" if printed else "none printed")
    model = train(make, steps, chosen.seed, units=128, n_envs=32)
    result = evaluate(model, make, 1000, chosen.seed)
    reference = "0.815 to 0.926" if printed else "none printed"
    report(f"{name}, recurrent PPO, {steps} steps, performance", result["performance"].mean(), reference)
    curves(result, f"context_rl_{name.replace(' ', '_')}.png")

    data = Dataset(make(), batch_size=32, seq_len=int(2 * stats["percentile_95"]), seed=chosen.seed)
    net = supervised(data, updates, 128, chosen.seed, decay=1e-5, weights=[0.05, 1.0, 1.0], log=500)
    right, records = last_step(net, Dataset(make(), batch_size=100, aligned=True, seed=1000 + chosen.seed), 1000)
    reference = "0.915 to 0.929" if printed else "none printed"
    report(f"{name}, supervised LSTM of 128, {updates} batches, performance", right.mean(), reference)
    columns = ("ground_truth", "other_choice", "context", "coh_1", "coh_2", "choice")
    trials = {column: np.array([record[column] for record in records]) for column in columns}
    curves(trials, f"context_supervised_{name.replace(' ', '_')}.png")
