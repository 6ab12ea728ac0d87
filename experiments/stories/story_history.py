"""An agent that uses history: the right answer repeats with probability 0.8, and the evidence is weak.

No agent that treats trials as independent can exceed the ceiling of the task; one that remembers what was right does.
"""

from common import arguments, evaluate, report, train

import neurogym as ngym
from neurogym.analysis.history import choice_history
from neurogym.wrappers import PassAction, PassReward, TrialHistory

chosen = arguments(__doc__)


def make():
    task = ngym.make("PerceptualDecisionMaking-v0", cohs=[0, 3.2, 6.4, 12.8], timing={"stimulus": 500})
    return PassAction(PassReward(TrialHistory(task, 0.8, block_dur=None, num_blocks=1)), one_hot=True)


ceiling = make().unwrapped.ceiling()["performance"]
model = train(make, 20_000 if chosen.fast else 600_000, chosen.seed, reset_state="never")
result = evaluate(model, make, 10_000, chosen.seed, reset_state="never")
report("performance with history", result["performance"].mean(), f"at most {ceiling:.3f} without")
order = result["env"].argsort(kind="stable")
answered = {name: column[order] for name, column in result.items()}
side = answered["ground_truth"] * 2 - 1
choice = (answered["choice"] == 2).astype(float)
choice[answered["choice"] == 0] = float("nan")
fit = choice_history(answered["coh"] * side, choice, answered["performance"], session=answered["env"], n_lags=2)
for after, regression, name in (("a correct", fit.after_correct, "win_1"), ("an error", fit.after_error, "lose_1")):
    weight, evidence = regression.weights[name], regression.weights["stimulus"]
    print(
        f"after {after} trial: weight of the last choice {weight.value:.2f} [{weight.low:.2f}, {weight.high:.2f}], "
        f"of 1 % coherence {evidence.value:.3f} [{evidence.low:.3f}, {evidence.high:.3f}]"
    )
