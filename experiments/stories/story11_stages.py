"""Train in stages: vision alone, hearing alone, both."""

from common import Predictor, arguments, evaluate, report, train

import neurogym as ngym
from neurogym.envs.native.annubesenv import AnnubesEnv
from neurogym.vector import make_vec

chosen = arguments(__doc__)
steps = 5_000 if chosen.fast else 20_000
STAGES = ({"v": 1, "a": 0}, {"v": 0, "a": 1}, {"v": 0.5, "a": 0.5})

model = None
for stage, session in enumerate(STAGES, start=1):

    def make(session=session):
        return AnnubesEnv(session=session)

    if model is None:
        model = train(make, steps, chosen.seed, "a2c")
    else:
        from ngym_cli.agents.algorithms.sb3 import TrialVecEnv

        model.set_env(TrialVecEnv(make_vec(make, 64), "trial"))
        model.learn(steps)
    result = evaluate(model, make, 1000, chosen.seed)
    report(f"stage {stage}, {session}, performance", result["performance"].mean(), "none printed")
    traces = ["fixation", "start", "v", "a"]
    ngym.plot_env(
        make(), num_trials=10, model=Predictor(model), ob_traces=traces, fname=chosen.out / f"annubes_stage{stage}"
    )
model.save(chosen.out / "final_model")
