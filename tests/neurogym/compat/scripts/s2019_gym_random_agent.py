"""2019: an id of that time through gym, random actions, trial by trial."""

import gymnasium as gym
import neurogym as ngym

for task in (
    "RDM-v0",
    "Mante-v0",
    "Romo-v0",
    "padoaSch-v0",
    "pdWager-v0",
    "DPA-v0",
    "GNG-v0",
    "Bandit-v0",
    "DawTwoStep-v0",
):
    env = gym.make(task, dt=100)
    env.reset()
    trials = 0
    for _ in range(150):
        obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
        trials += info["new_trial"]
    assert trials > 0, task
