"""Reaction times and biased blocks, as the notebook on the laboratory's task stacks them."""

from sb3_contrib import RecurrentPPO

import neurogym as ngym
from neurogym.utils.ngym_random import TruncExp
from neurogym.wrappers import Monitor, PassAction, PassReward, ReactionTime, SideBias

timing = {"fixation": TruncExp(600, 400, 700), "stimulus": 500, "delay": 0, "decision": 100}
env = ngym.make("PerceptualDecisionMaking-v0", dt=100, timing=timing)
env = SideBias(
    PassAction(PassReward(ReactionTime(env, end_on_stimulus=True))), probs=[[0.2, 0.8], [0.8, 0.2]], block_dur=(20, 100)
)
assert env.observation_space.shape == (5,)
env = Monitor(env, name="blocks", trigger="trial", interval=30, verbose=False)
model = RecurrentPPO("MlpLstmPolicy", env, n_steps=64, batch_size=32, policy_kwargs={"lstm_hidden_size": 8})
model.learn(total_timesteps=128)
env.evaluate_policy(num_trials=8, model=model, verbose=False)
blocks = [trial["probs"] for trial in env.data_eval["trial"]]
assert all(len(block) == 2 for block in blocks) and len(env.data_eval["action"]) == 8
