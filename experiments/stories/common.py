"""What the stories share: arguments, training, evaluation, and the line that is printed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium as gym
import numpy as np

from neurogym.utils.data import Dataset
from neurogym.vector import make_vec


def arguments(description: str | None) -> argparse.Namespace:
    """The command line: ``--fast`` for a run of seconds, ``--seed``, and ``--out`` for figures and files."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--fast", action="store_true", help="a small fraction of the budget, to see that it runs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/stories"))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    return chosen


def report(quantity: str, value: float, reference: str) -> None:
    """Print a result next to the reference's."""
    print(f"{quantity}: {value:.3f} (reference {reference})", flush=True)


def train(
    make_env: Callable[[], gym.Env],
    steps: int,
    seed: int,
    algorithm: str = "recurrent_ppo",
    units: int = 64,
    reset_state: str = "trial",
    n_envs: int = 64,
    **hyperparameters: Any,
) -> Any:
    """An agent that has learned for so many steps."""
    import torch

    from ngym_cli.agents.algorithms.sb3 import TrialVecEnv
    from ngym_cli.agents.from_config import make_model

    torch.set_num_threads(1)
    venv = TrialVecEnv(make_vec(make_env, n_envs), reset_state)
    dt = float(make_env().unwrapped.dt)
    model = make_model(algorithm, venv, None, units, None, hyperparameters, dt, seed=seed, device="cpu")
    return model.learn(steps)


def evaluate(
    model: Any, make_env: Callable[[], gym.Env], trials: int, seed: int, reset_state: str = "trial", n_envs: int = 64
) -> dict[str, np.ndarray]:
    """Fresh trials of an agent (None: random actions): a column for everything that is known of a trial."""
    from ngym_cli.agents.trained import agent_for

    venv = make_vec(make_env, n_envs)
    agent = agent_for(model.policy, seed) if model is not None else None
    venv.action_space.seed(seed)
    obs, _ = venv.reset(seed=10_000 + seed)
    state = None if agent is None else agent.initial_state(n_envs)
    batches, count = [], 0
    while count < trials:
        if agent is None:
            actions = venv.action_space.sample()
        else:
            act, state = agent.act(obs, state)
            actions = act.actions
        obs, _, terminated, truncated, infos = venv.step(actions)
        if agent is not None:
            state = agent.restart(
                state, terminated | truncated | (infos["new_trial"] if reset_state == "trial" else False)
            )
        if venv.finished is not None:
            batches.append(venv.finished)
            count += len(batches[-1]["env"])
    return {name: np.concatenate([batch[name] for batch in batches])[:trials] for name in batches[0]}


class Predictor:
    """An agent in the form that ``plot_env`` and ``Monitor`` take: it keeps its own state."""

    def __init__(self, model: Any):
        from ngym_cli.agents.trained import agent_for

        self.agent = agent_for(model.policy, 0)
        self.state = self.agent.initial_state(1)

    def predict(self, observation: np.ndarray, deterministic: bool = True) -> tuple[Any, None]:
        act, self.state = self.agent.act(observation[None], self.state)
        return act.actions[0], None


def supervised(
    dataset: Dataset,
    updates: int,
    units: int,
    seed: int,
    rate: float = 1e-2,
    decay: float = 0.0,
    weights: list[float] | None = None,
    log: int = 100,
) -> Any:
    """An LSTM with a linear read-out, trained by cross-entropy over all steps with Adam."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    inputs, actions = dataset.env.observation_space.shape[0], int(dataset.env.action_space.n)
    net = nn.ModuleDict({"lstm": nn.LSTM(inputs, units), "read": nn.Linear(units, actions)})
    optimiser = torch.optim.Adam(net.parameters(), lr=rate, weight_decay=decay)
    loss_of = nn.CrossEntropyLoss(weight=None if weights is None else torch.tensor(weights))
    running = 0.0
    for update in range(1, updates + 1):
        x, y = (torch.from_numpy(array) for array in dataset())
        loss = loss_of(net["read"](net["lstm"](x)[0]).flatten(0, 1), y.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        running += float(loss.detach())
        if update % log == 0:
            print(f"  update {update}: loss {running / log:.4f}", flush=True)
            running = 0.0
    return net


def last_step(net: Any, dataset: Dataset, trials: int, **conditions: Any) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Whether the most probable action at the last step of fresh trials is the right one, and the trials' records."""
    import torch

    right, records = [], []
    while len(records) < trials:
        batch = dataset.sample(**conditions)
        with torch.no_grad():
            chosen = net["read"](net["lstm"](torch.from_numpy(batch.inputs))[0]).argmax(dim=-1).numpy()
        last = batch.mask.sum(axis=0).astype(int) - 1
        column = np.arange(len(last))
        right.append(chosen[last, column] == batch.targets[last, column])
        records += [
            {**trial, "choice": int(chosen[t, b])} for b, (t, trial) in enumerate(zip(last, batch.trials, strict=True))
        ]
    return np.concatenate(right)[:trials], records[:trials]
