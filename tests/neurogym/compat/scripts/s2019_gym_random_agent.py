"""2019: an id of that time through gym, random actions, trial by trial."""

import gymnasium as gym
import neurogym as ngym

for task in "RDM Mante Romo padoaSch pdWager DPA GNG Bandit DawTwoStep".split():
    env = gym.make(f"{task}-v0", dt=100)
    env.reset()
    trials = 0
    for _ in range(150):
        obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
        trials += info["new_trial"]
    assert trials > 0, task
