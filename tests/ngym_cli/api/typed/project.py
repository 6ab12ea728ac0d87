"""Program of a user that passes strict type checkers."""

from __future__ import annotations

from pathlib import Path

from stable_baselines3.common.callbacks import StopTrainingOnMaxEpisodes
from torch import nn

import ngym_cli as nc


def score(seed: int) -> float | None:
    run = nc.train(
        "RDM-v0",
        ["pass_reward", ("noise", {"std_noise": 0.1})],
        nn.GRUCell,
        timesteps=1e5,
        units=32,
        seed=seed,
        timing={"stimulus": 500, "delay": ["uniform", [100, 300]]},
        hyperparameters={"learning_rate": 1e-3},
        callbacks=[StopTrainingOnMaxEpisodes(100)],
        reset_state="trial",
        progress=False,
        tag="baseline",
    )
    run = nc.train("RDM-v0", callbacks=lambda values, names: True, rewards={"correct": 2}, task_args={"cohs": [4, 8]})
    evaluation = run.evaluate(100, lesion={"units": [3, 7]}, record=["activity", "values"], timing={"stimulus": 500})
    evaluation = run.evaluate(100, compare={"choice": [1, 2], "coh": [3.0, 4.0]}, lesion=0.2)
    page = nc.info("RDM-v0")
    sweep = nc.sweep({"task": "RDM-v0"}, seed=range(3), network=["lstm", nn.GRUCell], timesteps=[1e4, 2e4])
    sweep = nc.sweep(task="RDM-v0", units=64, search={"trials": 3, "space": {"learning_rate": "log:1e-4:1e-2"}})
    best = sweep.best
    if best is not None:
        run = nc.train(config=best["config"])
    names: list[str] = list(nc.plot(run, "psychometric", by=["coh"], style="paper", format="pdf"))
    path: Path = nc.export(run, "onnx", overwrite=True)
    print(evaluation, page["id"], sweep.status["done"], names, path, nc.reproduce("roitman2002").claims)
    print(nc.list("tasks", tag="timing"), nc.diff(run, "latest"), nc.fit("rat.csv", model="gru", seeds=2).scores)
    print(nc.data("rat.csv", rt="time").subjects, nc.watch(run, only={"coh": 51.2}), nc.check("RDM-v0"))
    print(evaluation.activity.values.shape, evaluation.conditions, run.figures, nc.evaluate(run, 50, dt=20))
    return run.performance
