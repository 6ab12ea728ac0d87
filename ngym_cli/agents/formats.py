"""Handing a trained agent to other programs: Stable-Baselines3, ONNX, TorchScript, and LSTMs to sb3-contrib."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable
from contextlib import closing
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnasium import spaces
from sb3_contrib import RecurrentPPO as ContribRecurrentPPO
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from neurogym.messages.plain_data import plain
from neurogym.spaces import names_of
from ngym_cli import runs
from ngym_cli.agents.algorithms import find_algorithm
from ngym_cli.agents.algorithms.recurrent_ppo import RecurrentPPO
from ngym_cli.agents.from_config import build_model, build_venv
from ngym_cli.agents.loading import LoadedAgent, StepModule
from ngym_cli.agents.networks.images import ConvolutionalFront
from ngym_cli.errors import UserError, check_known, library, os_errors
from ngym_cli.files.outputs import may_write
from ngym_cli.files.writing import atomic_path

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

    from ngym_cli.agents.networks.policy import RecurrentPolicy


#: Description and file suffix of each format.
EXPORT_FORMATS: dict[str, tuple[str, str]] = {
    "sb3": ("zip file that Stable-Baselines3 or sb3-contrib loads, with all hyperparameters", ".zip"),
    "onnx": ("one step of the network as ONNX: observation and state in; logits, value and state out", ".onnx"),
    "torchscript": ("one step of the network as TorchScript: torch.jit.load needs no ngym", ".pt"),
}

#: Arguments of sb3-contrib's learner that are attributes of both.
SB3_ATTRIBUTES = (
    *("n_steps", "n_epochs", "gamma", "gae_lambda", "normalize_advantage", "ent_coef", "vf_coef", "max_grad_norm"),
    *("target_kl", "device"),
)


def export(run: runs.RunFolder, to: str, out: Path | None = None, trust: bool = False, overwrite: bool = False) -> Path:
    """Write the agent of a run in another program's format.

    Args:
        run: the run.
        to: a name in ``EXPORT_FORMATS``.
        out: file to write; default ``export/agent`` with the format's ending, in the run's folder.
        trust: accept user code named in the run's record.
        overwrite: replace a file that is there.

    Returns:
        The file.

    Raises:
        UserError: if there is no such format, the network does not exist there, or the file cannot be written.
    """
    check_known("format", to, EXPORT_FORMATS)
    path = out or run.path / "export" / f"agent{EXPORT_FORMATS[to][1]}"
    may_write(path, True, overwrite)
    agent = LoadedAgent(run, trust)
    with os_errors(f"cannot write {path}"), atomic_path(path) as temporary:
        _WRITERS[to](agent, temporary)
    return path


def _sb3(agent: LoadedAgent, path: Path) -> None:
    """Write the learner with hyperparameters and weights."""
    supervised = "Stable-Baselines3 has no supervised learner" if find_algorithm(agent.config.alg).supervised else ""
    if reason := supervised or (agent.recurrent and missing_in_contrib(agent.policy)):
        raise UserError(f"{reason}; export to onnx or torchscript")
    with closing(build_venv(agent.config, int(agent.config.n_envs or 1))) as venv:
        model = build_model(agent.config, venv if agent.recurrent else PlainSpaces(venv))
        model.policy.load_state_dict(agent.policy.state_dict())
        model.num_timesteps = agent.steps
        plain: BaseAlgorithm = to_contrib(model) if isinstance(model, RecurrentPPO) else model
        if plain is model:
            plain.learning_rate = plain.lr_schedule = _falling(model)
        with path.open("wb") as file:
            plain.save(file)


def _for_export(agent: LoadedAgent) -> StepModule:
    """Return a step of the network whose weights need no gradient."""
    module = agent.module.eval()
    for weight in module.parameters():
        weight.requires_grad_(False)
    return module


def _about(agent: LoadedAgent) -> dict[str, str]:
    """Return the description of the agent that is stored in exported files."""
    names = names_of(agent.policy.action_space)
    return {
        "task": agent.config.task,
        "wrappers": ",".join(entry.name for entry in agent.config.wrappers),
        "alg": agent.config.alg,
        "network": str(agent.config.network),
        "steps": str(agent.steps),
        "dt": str(agent.config.dt),
        "reset_state": agent.config.reset_state,
        "actions": json.dumps(plain(names)) if names else "",
    }


def _torchscript(agent: LoadedAgent, path: Path) -> None:
    """Write a single step of the network."""
    import torch

    module = _for_export(agent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(module, module.example(2), check_trace=False)
    extra = {name: text.encode() for name, text in _about(agent).items()}
    with path.open("wb") as file:
        torch.jit.save(traced, file, _extra_files=extra)


def _onnx(agent: LoadedAgent, path: Path) -> None:
    """Write a single step of the network."""
    onnx, _ = (library(name, f"export to ONNX needs {name}", "onnx") for name in ("onnx", "onnxscript"))
    import torch

    module = _for_export(agent)
    states = [f"state_{index}" for index in range(module.n_states)]
    inputs, results = ["observation", *states], ["logits", "value", *(f"next_{name}" for name in states)]
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # unneeded packages are reported otherwise
    several = torch.export.Dim.DYNAMIC
    shapes: dict[str, object] = {"observation": {0: several}}
    if module.n_states:
        shapes["state"] = tuple({1: several} for _ in range(module.n_states))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program: Any = torch.onnx.export(
            module,
            module.example(2),
            None,
            input_names=inputs,
            output_names=results,
            dynamo=True,
            verbose=False,
            dynamic_shapes=shapes,
        )
    model = program.model_proto
    for name, text in _about(agent).items():
        entry = model.metadata_props.add()
        entry.key, entry.value = name, text
    onnx.save(model, str(path))


_WRITERS: dict[str, Callable[[LoadedAgent, Path], None]] = {"sb3": _sb3, "onnx": _onnx, "torchscript": _torchscript}


def missing_in_contrib(policy: RecurrentPolicy) -> str:
    """Return the reason why sb3-contrib has no such agent; empty if there is one."""
    if policy.network_name != "lstm":
        return f"sb3-contrib has LSTM networks only, and this agent has a {policy.network_name}"
    if policy.chained:
        return "sb3-contrib has no critic that reads the activity of the actor"
    if policy.features_extractor_class is ConvolutionalFront:
        return "sb3-contrib does not have the convolutional network with which this agent sees images"
    return ""


def to_contrib(model: RecurrentPPO) -> ContribRecurrentPPO:
    """The same agent as a plain sb3-contrib model, which acts the same and can be trained on.

    Raises:
        ValueError: if sb3-contrib has no such agent.
    """
    policy, env = model.policy, model.env
    assert env is not None  # our learners are constructed with an environment
    if reason := missing_in_contrib(policy):
        raise ValueError(reason)
    shared = policy.lstm_critic is None
    limit = model.clip_range_vf
    plain = ContribRecurrentPPO(
        "MlpLstmPolicy",
        PlainSpaces(env),
        learning_rate=first if (first := float(model.lr_schedule(1.0))) == model.lr_schedule(0.0) else _falling(model),
        batch_size=model.batch_size or model.n_steps * model.n_envs,
        clip_range=float(model.clip_range(1.0)),
        clip_range_vf=None if limit is None else float(limit(1.0)),
        **{name: getattr(model, name) for name in SB3_ATTRIBUTES},
        policy_kwargs={
            "lstm_hidden_size": policy.lstm_actor.hidden_size,
            "n_lstm_layers": policy.lstm_actor.num_layers,
            "shared_lstm": shared,
            "enable_critic_lstm": not shared,
            "net_arch": policy.net_arch,
            "features_extractor_class": policy.features_extractor_class,
            "features_extractor_kwargs": policy.features_extractor_kwargs,
        },
    )
    names = plain.policy.state_dict()  # effective weights: constraints are not handed on
    plain.policy.load_state_dict({name: attrgetter(name)(policy).detach() for name in names})
    plain.num_timesteps = model.num_timesteps
    return plain


def _falling(model: BaseAlgorithm) -> LinearSchedule:
    """Return the learning rate as the library's linear schedule."""
    return LinearSchedule(float(model.lr_schedule(1.0)), float(model.lr_schedule(0.0)), 1.0)


class PlainSpaces(VecEnvWrapper):
    """The same environments with Gymnasium's own spaces, so that a file of the model needs neither package.

    Args:
        venv: a batch of environments.
    """

    def __init__(self, venv: VecEnv) -> None:
        super().__init__(venv, plain_space(venv.observation_space), plain_space(venv.action_space))

    def reset(self) -> VecEnvObs:
        """Reset all environments."""
        return self.venv.reset()

    def step_wait(self) -> VecEnvStepReturn:
        """Step all environments."""
        return self.venv.step_wait()


def plain_space(space: spaces.Space[Any]) -> spaces.Space[Any]:
    """Return a space without channel names, as an instance of Gymnasium's own class."""
    if isinstance(space, spaces.Box):
        return spaces.Box(space.low, space.high, space.shape, space.dtype.type)
    return spaces.Discrete(int(space.n)) if isinstance(space, spaces.Discrete) else space
