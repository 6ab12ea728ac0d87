"""Train one network on the 20 tasks of Yang et al. 2019."""

import numpy as np
from common import arguments, evaluate, last_step, report, supervised

import neurogym as ngym
from neurogym.sampling.scheduler import RandomSchedule
from neurogym.utils.data import Dataset
from neurogym.wrappers import ScheduleEnvs

REFERENCE = {"dm1": 0.930, "dm2": 0.913, "ctxdm1": 0.942, "ctxdm2": 0.941, "multidm": 0.894}
REFERENCE |= {"dlydm1": 0.993, "dlydm2": 1.0, "ctxdlydm1": 0.999, "ctxdlydm2": 0.998, "multidlydm": 0.897}

chosen = arguments(__doc__)
names = ngym.get_collection("yang19")


def make():
    envs = [ngym.make(name, dt=100, dim_ring=2) for name in names]
    return ScheduleEnvs(envs, RandomSchedule(len(envs)), env_input=True)


for task in ("yang19.dm1-v0", "yang19.multidm-v0"):
    ngym.plot_env(task, num_trials=3, fname=chosen.out / task.split("-")[0].replace(".", "_"))
ngym.plot_env(make(), num_trials=5, fname=chosen.out / "yang19_all")
report("random agent", evaluate(None, make, 1000, chosen.seed)["performance"].mean(), "0.444")
data = Dataset(make(), batch_size=32, seq_len=100, seed=chosen.seed)
print("inputs", data()[0].shape)
net = supervised(data, 40 if chosen.fast else 1000, 128, chosen.seed, decay=1e-5, weights=[0.05, 1.0, 1.0])
trials = 100 if chosen.fast else 1000
test = Dataset(make(), batch_size=20, aligned=True, seed=1000 + chosen.seed)
scores = []
for name in names:
    right, _ = last_step(net, test, trials, task=name)
    scores.append(right.mean())
    short = name.split(".")[1].split("-")[0]
    report(f"  {short}", scores[-1], f"{REFERENCE.get(short, 1.0):.3f}")
report("mean of the tasks", float(np.mean(scores)), f"{np.mean([REFERENCE.get(n[7:-3], 1.0) for n in names]):.3f}")
