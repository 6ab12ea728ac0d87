"""Compare reinforcement and supervised learning on context-dependent decisions; draw psychometric curves."""

import matplotlib.pyplot as plt
import numpy as np
from common import arguments, evaluate, last_step, report, supervised, train

import neurogym as ngym
from neurogym.utils.data import Dataset

chosen = arguments(__doc__)
timing = {"fixation": 300, "stimulus": 750, "delay": ngym.TruncExp(600, 300, 3000), "decision": 100}
options = {"dt": 100, "use_expl_context": True, "sigma": 1, "timing": timing}


def make():
    return ngym.make("ContextDecisionMaking-v0", **options)


def curves(trials: dict[str, np.ndarray], fname: str) -> None:
    """P(right) against signed evidence of each modality, one panel per context."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
    answered = trials["choice"] != 0
    right = trials["choice"] == 2
    for context, ax in enumerate(axes):
        use = answered & (trials["context"] == context)
        truth = np.where(trials["ground_truth"] == 2, 1, -1)
        other = np.where(trials["other_choice"] == 2, 1, -1)
        for modality in (0, 1):
            evidence = trials[f"coh_{modality + 1}"] * (truth if modality == context else other)
            beta, _ = ngym.plot_psychometric(
                evidence[use], right[use].astype(int), ax, legend=f"modality {modality + 1}"
            )
            relevant = "relevant" if modality == context else "irrelevant"
            print(f"  context {context}, {relevant} modality: slope {beta:.3f}")
        ax.set_title(f"context {context}")
    figure.savefig(chosen.out / fname)


stats = make().unwrapped.trial_length_stats(1000)
report("random agent", evaluate(None, make, 1000, chosen.seed)["performance"].mean(), "0.312 to 0.345")
steps = 10_000 if chosen.fast else 175_000
model = train(make, steps, chosen.seed, units=128)
found = evaluate(model, make, 1000, chosen.seed)
report(f"recurrent PPO, {steps} steps, performance", found["performance"].mean(), "0.815 to 0.926")
curves(found, "context_rl.png")

data = Dataset(make(), batch_size=32, seq_len=int(2 * stats["percentile_95"]), seed=chosen.seed)
net = supervised(data, 100 if chosen.fast else 1000, 128, chosen.seed, decay=1e-5, weights=[0.05, 1.0, 1.0])
right, records = last_step(net, Dataset(make(), batch_size=100, aligned=True, seed=1000 + chosen.seed), 1000)
report("supervised LSTM of 128, performance", right.mean(), "0.915 to 0.929")
columns = ("ground_truth", "other_choice", "context", "coh_1", "coh_2", "choice")
curves({name: np.array([record[name] for record in records]) for name in columns}, "context_supervised.png")
