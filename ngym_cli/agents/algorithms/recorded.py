"""Objective of recordings: a network's units reproduce recorded neurons in the task's trials, next to any task loss.

At each update the network runs through fresh trials of the task, whose stimuli an agent that is always correct sees.
Its activity is averaged by condition and step and read out linearly, or a unit for each neuron. The loss is the share
of the neurons' variance that is left (`variance`: mean squared error of z-scored rates), or minus the Poisson
log-likelihood of counts in bits per spike above that of constant rates (`bits`: Pei et al. 2021, arXiv:2109.04463).
For the gradient of squared errors, and of Poisson likelihoods, averages weighted by their trials are equal to single
trials. The gradient is added to that of any other objective, compiled or not; the read-out has its own Adam.
"""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecTransposeImage
from torch import Tensor, nn

from neurogym.analysis.encoding import Averages
from neurogym.stream import Frame, GroundTruthStream
from ngym_cli.agents.networks.base import to_device
from ngym_cli.agents.networks.structure import Structure
from ngym_cli.agents.sequences import Sequences
from ngym_cli.agents.supervised.material import check
from ngym_cli.config.model import ResolvedConfig
from ngym_cli.environments.trial_batch import batch_of
from ngym_cli.errors import UserError, option
from ngym_cli.runs import neural
from ngym_cli.runs.population_parts import WHOLE_TRIALS, condition_names
from ngym_cli.runs.populations import shared_columns

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

    from ngym_cli.agents.networks.policy import RecurrentPolicy

#: Trials of an update for each condition, most trials of an update, trials in which conditions are looked for.
EACH, MOST, LOOKED_AT = 2, 256, 4096
#: Penalty of the regression with which the read-out begins, relative to the mean variance of the units.
RIDGE = 0.01


class TaskTrials:
    """Fresh trials of a task, with their conditions; those of an update depend on seed and number alone.

    Args:
        env: a task with its wrappers, of which a copy makes the trials.
        seed: random seed.
    """

    def __init__(self, env: gym.Env, seed: int) -> None:
        check(env)
        self._stream, self._seed = GroundTruthStream(copy.deepcopy(env)), seed

    def make(self, number: int, trials: int) -> list[Frame]:
        """Return the trials of an update, in one or several frames."""
        self._stream.restart(int(np.random.SeedSequence([self._seed, number]).generate_state(1)[0] >> 1))
        frames = [self._stream.make(trials)]
        while sum(len(each.length) for each in frames) < trials:
            frames.append(self._stream.make(1))
        return frames


class RecordingObjective:
    """Penalty on the difference between a network's activity, read out, and a recording.

    Args:
        learner: of a policy with a recurrent network.
        venv: environments that the learner learns from.
        config: complete configuration with a recording.

    Raises:
        UserError: if recording, task and network do not fit together.
    """

    def __init__(self, learner: BaseAlgorithm, venv: VecEnv, config: ResolvedConfig) -> None:
        assert config.recording is not None
        self.settings, self.learner = config.recording, learner
        self._images = isinstance(venv, VecTransposeImage)
        self._trials = TaskTrials(batch_of(venv).envs[0], config.seed)
        frames = self._trials.make(0, LOOKED_AT)
        info, path = frames[0].trials.info, Path(self.settings.file)
        ours = [*frames[0].trials.env.conditions, "ground_truth"]
        by = self.settings.conditions or shared_columns(path, [name for name in ours if name in info])
        for name in by:
            if name not in info:
                raise UserError(
                    f"{option('--recording-by')}: the task has no condition {name}; it has {', '.join(info)}"
                )
        self.recorded = neural.read_neural(self.settings, by, float(config.dt), list(frames[0].trials.starts))
        offered = {str(name) for each in frames for name in self._conditions(each)}
        neural.check_conditions(self.recorded, path, offered, f"change the task ({option('--task-arg')})")
        self._averages = self.recorded.averages(~self.recorded.split.trials)
        self._n = min(MOST, max(32, EACH * len(self.recorded.conditions)))
        self._read_out(config)
        self.updates, self.loss, self.course = 0, math.nan, list[tuple[float, float]]()

    def _read_out(self, config: ResolvedConfig) -> None:
        """Make targets, read-out and its optimiser."""
        learned, counts = ~self.recorded.split.neurons, self.settings.loss == "bits"
        z, mean, _ = neural.normalised(self._averages)
        target = self._averages.values if counts else z
        tensor = self._tensor
        self._target, self._mean = tensor(target[:, learned]), tensor(np.maximum(mean[learned], 1e-3))
        allowed = torch.from_numpy(self._allowed(config)[learned])
        n, units = allowed.shape
        generator = torch.Generator().manual_seed(config.seed)
        self._mask = allowed.to(self._target)
        if self.settings.map == "identity":
            weight = torch.zeros(n)
        else:
            weight = torch.randn(n, units, generator=generator) / units**0.5
        bias = self._mean.log() if counts else torch.zeros(n)
        self._weight, self._bias = (nn.Parameter(each.to(self._target)) for each in (weight, bias))
        self._adam = torch.optim.Adam([self._weight, self._bias])

    def _allowed(self, config: ResolvedConfig) -> np.ndarray:
        """Return the units that each neuron may be read from, shape (neurons, units)."""
        names, units = self.recorded.areas, config.units
        blocks = Structure.of(config.network_args).blocks
        n = len(self.recorded.split.neurons)
        allowed = np.ones((n, units), np.float32)
        positions = {"": list(range(units))}
        if blocks and names is not None:
            positions = {each.name: list(range(units))[each.units] for each in blocks}
            unknown = sorted(set(names) - positions.keys())
            if unknown:
                raise UserError(
                    f"{Path(self.settings.file).name} has neurons of {', '.join(unknown)}, but the network has the "
                    f"areas {', '.join(positions)}; {option('--recording-area')} chooses one, or name the areas alike"
                )
            for k, name in enumerate(names):
                allowed[k] = np.isin(np.arange(units), positions[name])
        if self.settings.map == "identity":
            allowed[:] = 0
            for name, where in positions.items():
                neurons = np.flatnonzero(names == name) if name else np.arange(n)
                if len(neurons) > len(where):
                    raise UserError(
                        f"{option('--recording-map identity')} needs a unit for each of {len(neurons)} neurons"
                        f"{f' of {name}' if name else ''}, but there are {len(where)}: {option('--units')}"
                    )
                allowed[neurons, where[: len(neurons)]] = 1
        return allowed

    @property
    def _policy(self) -> RecurrentPolicy:
        policy: Any = self.learner.policy
        return policy

    @property
    def weights(self) -> Tensor:
        """Weights of the read-out (neurons, units)."""
        scale = self._weight.exp()[:, None] if self.settings.map == "identity" else self._weight
        return scale * self._mask

    def __call__(self) -> tuple[Tensor, float]:
        """Return the weighted gradient with respect to all weights of the policy, and the weighted loss."""
        policy = self._policy
        loss, number = self._loss(self._trials.make(self.updates + 1, self._n))
        wanted = [*policy.vector_optimizer.weights, self._weight, self._bias]
        gradients = torch.autograd.grad(self.settings.weight * loss, wanted, materialize_grads=True)
        slope = torch.cat([each.flatten() for each in gradients[:-2]])
        for parameter, gradient in zip((self._weight, self._bias), gradients[-2:], strict=True):
            parameter.grad = gradient / self.settings.weight
        self._adam.param_groups[0]["lr"] = policy.optimizer.param_groups[0]["lr"]
        self._adam.step()
        self.updates += 1
        self.loss = number
        return slope, self.settings.weight * number

    def _loss(self, frames: list[Frame]) -> tuple[Tensor, float]:
        rates, chosen, rows = [], [], []
        rng, begin = np.random.default_rng([self.updates, self._n]), 0
        for frame in frames:
            rates.append(self._rates(frame, rng))
            places, targets = self._places(frame, self._averages)
            chosen.append(places + begin)
            rows.append(targets)
            begin += len(frame.rows)
        places, targets = np.concatenate(chosen), np.concatenate(rows)
        used, index, number = np.unique(targets, return_inverse=True, return_counts=True)
        if not len(used):
            raise UserError("no trial of the task has a condition of the recording")
        activity = torch.cat(rates)[torch.from_numpy(places).to(self._target.device)]
        mean = activity.new_zeros(len(used), activity.shape[1])
        mean = mean.index_add(0, torch.from_numpy(index).to(mean.device), activity) / self._tensor(number)[:, None]
        trials, target = self._tensor(self._averages.trials[used])[:, None], self._target[used]
        if not self.updates:
            self._fit_read_out(mean.detach(), target)
        read = mean @ self.weights.t() + self._bias
        if self.settings.loss == "variance":
            loss = (trials * (read - target).square()).mean(1).sum() / trials.sum()
        else:
            spikes = (trials * target).sum().clamp_min(1)
            likelihood = target * (read - self._mean.log()) - read.exp() + self._mean
            loss = -(trials * likelihood).sum() / (spikes * math.log(2))
        return loss, float(loss.detach())

    @torch.no_grad()
    def _fit_read_out(self, activity: Tensor, target: Tensor) -> None:
        """Begin with the ridge regression on the untrained network, which leaves less to be learned."""
        if self.settings.map == "identity" or self.settings.loss == "bits":
            return
        centred = activity - activity.mean(0)
        product = centred.t() @ centred
        product += RIDGE * product.diagonal().mean() * torch.eye(len(product)).to(product)
        masks, group = torch.unique(self._mask, dim=0, return_inverse=True)
        for k, mask in enumerate(masks.bool()):
            solved = torch.linalg.solve(product[mask][:, mask], centred.t()[mask] @ target[:, group == k])
            rows = torch.zeros(solved.shape[1], len(mask)).to(solved)
            rows[:, mask] = solved.t()
            self._weight[group == k] = rows
        self._bias.copy_(target.mean(0) - self._weight @ activity.mean(0))

    def _places(self, frame: Frame, averages: Averages) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of a frame, and the rows of the averages that these are compared with."""
        begins = np.cumsum(frame.length) - frame.length
        places, targets = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for k, condition in enumerate(self._conditions(frame)):
            for part in self.recorded.parts:
                span = averages.rows.get((part, str(condition)))
                if span is None:
                    continue
                start = 0 if part == WHOLE_TRIALS else int(frame.trials.starts[part][k])
                stop = frame.length[k] if part == WHOLE_TRIALS else min(frame.trials.ends[part][k], frame.length[k])
                n = max(0, min(int(stop) - start, span.stop - span.start))
                places.append(begins[k] + start + np.arange(n))
                targets.append(span.start + np.arange(n))
        return np.concatenate(places), np.concatenate(targets)

    def _conditions(self, frame: Frame) -> np.ndarray:
        by = self.recorded.by
        info = {name: np.broadcast_to(frame.trials.info[name], len(frame.length)) for name in by}
        return condition_names(info, by, len(frame.length))

    def _rates(self, frame: Frame, rng: np.random.Generator) -> Tensor:
        """Return the activity of the acting network, in the order of a frame's rows (step, unit)."""
        policy, layout = self._policy, Sequences.in_a_row(frame.length).pack()
        network, counts = policy.networks[0], layout.counts.tolist()
        ob = frame.ob[layout.steps]
        ob = np.moveaxis(ob, -1, 1) if self._images else ob
        noise = network.draw_noise(len(layout.steps), 1, rng)
        draws = None if noise is None else self._tensor(noise[:, :, 0])
        with policy.autocast():
            features = policy.features(torch.from_numpy(np.ascontiguousarray(ob)).to(self._target.device))
            rates, _ = network.sequence(features, counts, network.initial_state(counts[0]), draws)
        order = torch.from_numpy(np.argsort(layout.steps)).to(rates.device)
        return rates[order].to(self._target.dtype)

    def _tensor(self, array: np.ndarray) -> Tensor:
        return to_device(np.asarray(array, np.float32), self.learner.policy.device)

    def numbers(self) -> dict[str, float]:
        """Return the numbers of the last update that curves show, and keep them."""
        if math.isnan(self.loss):
            return {}
        self.course.append((float(self.learner.num_timesteps), self.loss))
        if self.settings.loss == "bits":
            return {"recording_loss": self.loss, "recording_bits": -self.loss}
        return {"recording_loss": self.loss, "recording_explained": 1 - self.loss}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the read-out with what was held out, by name."""
        read_out = {"weights": self.weights, "bias": self._bias}
        arrays = {k: each.detach().cpu().numpy() for k, each in read_out.items()}
        return neural.read_out_of({**arrays, "course": np.array(self.course).reshape(-1, 2)}, self.recorded)

    def state(self) -> dict[str, Any]:
        """State that the coming updates depend on, as plain data and arrays."""
        moments = self._adam.state_dict()["state"]
        adam = [{name: value.cpu().numpy().copy() for name, value in moments[k].items()} for k in sorted(moments)]
        read_out = [each.detach().cpu().numpy() for each in (self._weight, self._bias)]
        course = np.array(self.course).reshape(-1, 2)
        return {"updates": self.updates, "loss": self.loss, "course": course, "read_out": read_out, "adam": adam}

    @torch.no_grad()
    def set_state(self, state: dict[str, Any]) -> None:
        """Restore the result of `state`."""
        self.updates, self.loss = int(state["updates"]), float(state["loss"])
        self.course = [(float(step), float(loss)) for step, loss in state["course"]]
        for parameter, saved in zip((self._weight, self._bias), state["read_out"], strict=True):
            parameter.copy_(torch.from_numpy(np.array(saved)))
        moments = {
            k: {n: torch.from_numpy(np.array(v)) for n, v in each.items()} for k, each in enumerate(state["adam"])
        }
        self._adam.load_state_dict({**self._adam.state_dict(), "state": moments})
