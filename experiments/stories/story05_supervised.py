"""Train a network by supervised learning."""

from common import arguments, last_step, report, supervised

from neurogym.utils.data import Dataset

chosen = arguments(__doc__)
task = ("PerceptualDecisionMaking-v0", {"dt": 100})
net = supervised(
    Dataset(*task, batch_size=16, seq_len=100, seed=chosen.seed), 200 if chosen.fast else 2000, 64, chosen.seed
)
right, _ = last_step(net, Dataset(*task, batch_size=100, aligned=True, seed=1000 + chosen.seed), 1000)
report("LSTM of 64, performance", right.mean(), "0.83 to 0.895")
