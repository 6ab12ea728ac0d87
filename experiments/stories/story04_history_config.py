"""Study trial history, and log behaviour with settings from a file."""

import numpy as np
from common import Predictor, arguments, evaluate, report, train

import neurogym as ngym
from neurogym.wrappers import Monitor, TrialHistory, TrialHistoryV2

chosen = arguments(__doc__)
file = chosen.out / "config.toml"
file.write_text(
    f'local_dir = "{chosen.out.resolve()}"\n[env]\nname = "GoNogo"\n[monitor]\ninterval = 100\nverbose = false\n'
    "[monitor.plot]\nstep = 100\n[agent.training]\nvalue = 100\n"
)
timing = {"fixation": 300, "stimulus": 700, "decision": 300}


def gonogo():
    return TrialHistoryV2(ngym.make("GoNogo-v0", timing=timing), probs=[[0.8, 0.2], [0.2, 0.8]])


steps = 10_000 if chosen.fast else 500_000
model = train(gonogo, steps, chosen.seed, "a2c")
env = Monitor(gonogo(), config=file)
ob, _ = env.reset(seed=chosen.seed)
agent = Predictor(model)
for _ in range(env.config.agent.training.value * 20):
    ob, *_ = env.step(agent.predict(ob)[0])
ngym.plot_env(gonogo(), num_steps=100, model=Predictor(model), fname=chosen.out / "gonogo_history")
reward = evaluate(model, gonogo, 2000, chosen.seed)["reward"].mean()
report("GoNogo with trial history, memoryless A2C, reward per trial", reward, "0.273, 0.226, 0.201")


def dots():
    task = ngym.make(
        "PerceptualDecisionMaking-v0", cohs=np.array([0, 12.8, 25.6, 51.2, 102.4]), timing={"stimulus": 500}
    )
    return TrialHistory(task, 0.8, block_dur=50, contexts=("repeating", "alternating"))


model = train(dots, steps, chosen.seed, "recurrent_ppo", reset_state="never")
result = evaluate(model, dots, 4000, chosen.seed, reset_state="never")
report("random dots in repeating and alternating blocks, performance", result["performance"].mean(), "0.845, 0.851")
