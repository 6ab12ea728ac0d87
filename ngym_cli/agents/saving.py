"""Final weights on disk: safetensors and JSON, never a pickle."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnasium.spaces import Discrete, Space

from ngym_cli import runs
from ngym_cli.agents.from_config import build_model, build_venv
from ngym_cli.agents.networks import find_network
from ngym_cli.config.model import ResolvedConfig
from ngym_cli.errors import UserError
from ngym_cli.files import reading
from ngym_cli.files.writing import atomic_folder, write_json, write_tensors
from ngym_cli.runs import records

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import BasePolicy
    from stable_baselines3.common.vec_env import VecEnv
    from torch import Tensor

WEIGHTS = "weights.safetensors"
DESCRIPTION = "model.json"
WEIGHTS_FORMAT = 1


def save_model(model: BaseAlgorithm, config: ResolvedConfig, folder: Path) -> None:
    """Write the weights of a model and the description from which the network is rebuilt.

    Args:
        model: a Stable-Baselines3 algorithm.
        config: the complete configuration.
        folder: the run's ``model`` folder; replaced as a whole.
    """
    tensors = {name: value.clone() for name, value in model.policy.state_dict().items()}
    description = {
        "format": WEIGHTS_FORMAT,
        "alg": config.alg,
        "network": config.network,
        "network_args": config.network_args,
        "units": config.units,
        "observation_space": describe_space(model.observation_space),
        "action_space": describe_space(model.action_space),
        "tensors": {name: list(value.shape) for name, value in tensors.items()},
        "steps": int(model.num_timesteps),
    }
    with atomic_folder(folder, (WEIGHTS, DESCRIPTION)) as temporary:
        write_tensors(temporary / WEIGHTS, tensors)
        write_json(temporary / DESCRIPTION, description)


def describe_space(space: Space[object]) -> dict[str, object]:
    """Return a space as numbers and words."""
    shape = [int(size) for size in space.shape or ()]
    description: dict[str, object] = {"type": type(space).__name__, "shape": shape, "dtype": str(space.dtype)}
    if isinstance(space, Discrete):
        description["n"] = int(space.n)
    return description


def load_model(folder: Path, config: ResolvedConfig, venv: VecEnv) -> tuple[BaseAlgorithm, int]:
    """Rebuild a model, load the weights, and return the model and the number of training steps.

    Args:
        folder: the run's ``model`` folder.
        config: the run's complete configuration.
        venv: a batch of environments of the task.

    Raises:
        UserError: if files are missing or damaged, or the weights do not fit the task or the network.
    """
    steps = read_description(folder, venv.observation_space, venv.action_space)
    tensors = read_weights(folder / WEIGHTS)
    _refuse_small(folder / WEIGHTS, config)
    model = build_model(config, venv, has_experience=False)
    fill(model.policy, tensors, folder / WEIGHTS)
    return model, steps


def read_description(folder: Path, observation_space: Space[Any], action_space: Space[Any]) -> int:
    """Check that stored weights belong to a task with these spaces, and return the number of training steps.

    Raises:
        UserError: if the format is unknown or a space differs.
    """
    description = records.read(folder / DESCRIPTION, records.NetworkDescription)
    if description["format"] != WEIGHTS_FORMAT:
        raise UserError(f"{folder / DESCRIPTION}: unknown format; expected {WEIGHTS_FORMAT}")
    for name, space in (("observation_space", observation_space), ("action_space", action_space)):
        trained, present = description.get(name), describe_space(space)
        if trained != present:
            raise UserError(f"the model was trained with {name} {trained}, but the task now has {present}")
    return int(description.get("steps", 0))


def _refuse_small(path: Path, config: ResolvedConfig) -> None:
    """Refuse a weights file that is too small for the configured network, before the network is built.

    Raises:
        UserError: if the file has fewer bytes than a matrix of the recurrent weights, or than one of its two factors
            if the rank is low (for others: a layer's biases).
    """
    units = config.units
    network = find_network(config.network) if config.network else None
    square = network is not None and network.recurrent and network.own_class is None
    numbers = units * min(units, int(config.network_args.get("rank") or units)) if square else units
    if path.is_file() and path.stat().st_size < 4 * numbers:
        raise UserError(f"{path} is too small for a network of {units:,} units")


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file.

    Raises:
        UserError: if it is missing or not one.
    """
    try:
        return reading.read_tensors(path)
    except FileNotFoundError:
        raise UserError(f"damaged run folder {path.parent.parent}: {path.parent.name}/{path.name} is missing") from None


def fill(policy: BasePolicy, tensors: dict[str, Tensor], path: Path) -> None:
    """Put weights into a policy.

    Raises:
        UserError: if a tensor is missing, superfluous, of another shape, or holds a number that is not finite.
    """
    expected = {name: tuple(value.shape) for name, value in policy.state_dict().items()}
    for name in [*expected, *tensors]:
        if name not in tensors or name not in expected:
            raise UserError(f"{path} does not fit the network: tensor {name} is in only one of them")
        actual = tuple(tensors[name].shape)
        if actual != expected[name]:
            raise UserError(f"{path} does not fit the network: {name} has shape {actual}, expected {expected[name]}")
        if not bool(tensors[name].isfinite().all()):
            raise UserError(f"{path}: {name} holds numbers that are not finite")
    policy.load_state_dict(tensors)


def initialise_from(model: BaseAlgorithm, config: ResolvedConfig, run: runs.RunFolder) -> dict[str, object]:
    """Put the weights of a run into a model that has yet to learn, tensor by tensor of the same name.

    Heads that the run's learner does not have (a critic of its own) stay as they are. Where the run's task has other
    observations or actions, weights from inputs and to outputs stay as they are, and the recurrent part is taken over.

    Args:
        model: a Stable-Baselines3 algorithm.
        config: the complete configuration.
        run: a run whatever its algorithm, with the same network.

    Returns:
        What the manifest says of it: the run and the tensors that it lacks.

    Raises:
        UserError: if the networks differ, or the weights are missing, damaged or not finite.
    """
    run.require_model()
    folder = run.path / runs.MODEL
    description = records.read(folder / DESCRIPTION, records.NetworkDescription)
    for name, configured in (("network", config.network), ("units", config.units)):
        if description.get(name) != configured:
            raise UserError(f"{run.path} has {name} {description.get(name)}, not {configured}: its weights do not fit")
    stored, parameters = read_weights(folder / WEIGHTS), model.policy.state_dict()
    if config.network_args.get("prune") is not None:
        stored = _with_connections(stored, parameters)
    spaces = {name: describe_space(getattr(model, name)) for name in ("observation_space", "action_space")}
    if any(description.get(name) != space for name, space in spaces.items()):
        stored = {
            name: value
            for name, value in stored.items()
            if name in parameters and value.shape == parameters[name].shape
        }
    fill(model.policy, {name: stored.get(name, value) for name, value in parameters.items()}, folder / WEIGHTS)
    fresh = [name for name in parameters if name not in stored]
    return {"run": str(run.path.resolve()), "steps": description.get("steps"), "fresh": fresh}


def _with_connections(stored: dict[str, Tensor], parameters: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return weights of a network without pruning under the names of a network that is pruned, all connections present.

    Args:
        stored: the weights.
        parameters: state of the network that is pruned.
    """
    names = {name.replace("parametrizations.", "").removesuffix(".original"): name for name in parameters}
    renamed = {names.get(name, name): value for name, value in stored.items()}
    factors = {name: value for name, value in parameters.items() if name.endswith(".factor")}
    return {**factors, **renamed}


def load_policy(run: runs.RunFolder, config: ResolvedConfig, device: str = "cpu") -> tuple[BasePolicy, int]:
    """Return the trained policy of a run and the number of training steps.

    Args:
        run: the run.
        config: its complete configuration.
        device: name of the device that the policy acts on, wherever it was trained.

    Raises:
        UserError: if the run has no model yet, and as ``load_model``.
    """
    run.require_model()
    config = config.model_copy(update={"device": device})
    with closing(build_venv(config, 1)) as venv:
        model, steps = load_model(run.path / runs.MODEL, config, venv)
    return model.policy, steps
