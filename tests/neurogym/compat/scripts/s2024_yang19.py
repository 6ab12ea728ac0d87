"""The collection of twenty tasks in one environment with a rule input."""

import neurogym as ngym
from neurogym.envs.collections import get_collection
from neurogym.utils import RandomSchedule
from neurogym.wrappers import ScheduleEnvs

names = get_collection("yang19")
assert len(names) == 20
envs = [ngym.make(name, dt=100, dim_ring=2) for name in names]
env = ScheduleEnvs(envs, schedule=RandomSchedule(len(envs)), env_input=True)
assert env.observation_space.shape == (25,)
ob, info = env.reset()
for _ in range(500):
    ob, reward, terminated, truncated, info = env.step(env.action_space.sample())
    assert ob.shape == (25,)
env.set_i(3)
env.new_trial()
assert env.i_env == 3
dataset = ngym.Dataset(env, batch_size=4, seq_len=30)
inputs, target = dataset()
assert inputs.shape == (30, 4, 25)
ring = ngym.make("yang19.go-v0").observation_space.name["stimulus"]
assert list(ring) == list(range(1, 17))
