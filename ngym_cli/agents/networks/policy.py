"""The actor-critic policy around any recurrent network, a Stable-Baselines3 policy with sb3-contrib's names."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from ngym_cli.agents.acting import Act, Actor, Layer, ReadOut
from ngym_cli.agents.compiled import autograd
from ngym_cli.agents.compiled.network import ArrayState
from ngym_cli.agents.networks import SPATIAL_CHANNELS, constraints, find_network
from ngym_cli.agents.networks.base import RecurrentNetwork, State, to_numpy
from ngym_cli.agents.networks.images import ConvolutionalFront, FeatureCache, SpatialFront, distinct
from ngym_cli.agents.networks.optimizer import Adam, Optimizer
from ngym_cli.agents.networks.passes import PolicyWeights, unusual_structure
from ngym_cli.agents.networks.places import PlaceCode
from ngym_cli.agents.networks.structure import Structure


@dataclass(frozen=True)
class PackedSequences:
    """Packed sequences without a reset inside.

    Attributes:
        obs: (step, ...), or the distinct ones of all steps.
        counts: number of sequences with each step, largest first.
        state: initial states of all networks (layer, sequence, unit), the actor's first.
        noise: recurrent noise of each network (step, layer, unit).
        rows: row of each step in `obs` (step,); None: one row for each step.
    """

    obs: Tensor
    counts: list[int]
    state: tuple[Tensor, ...]
    noise: list[Tensor | None] | None = None
    rows: Tensor | None = None


class RecurrentPolicy(RecurrentActorCriticPolicy):
    """Front end, recurrent network(s), optional MLP read-out, action and value heads.

    With `network="lstm"` the state dict is that of sb3-contrib's policy. Unlike there, a shared network also receives
    the critic's gradient.

    Args:
        observation_space: Box (flattened), Discrete (one-hot) or uint8 image (convolutional front end).
        action_space: Discrete or Box (diagonal Gaussian).
        lr_schedule: learning rate as a function of remaining progress.
        network: a recurrent name in `ngym_cli.agents.networks.NETWORKS`, or a user's own cell.
        units: units per layer.
        layers: stacked recurrent layers.
        shared: use a common network for actor and critic instead of separate networks.
        network_kwargs: the network's own options.
        structure: constraints on the weights of the networks and of the layers that read the units; None: none.
        critic_reads: "observations", or "activity" of the actor's units, which the critic's error does not change;
            the latter needs separate networks.
        net_arch: hidden layers of the MLP read-out; none by default.
        cnn_features: number of output features of the front end for images.
        patience: steps for which the untrained agent keeps its first action, on average; by default all of a Discrete
            space's actions are equally likely at first.
        places: places along each component of a continuous action (see `PlaceCode`); None: the mean is read out.
        precision: "single", or "bf16" for the products of learning on devices in half precision (bfloat16).
        kwargs: other options of sb3-contrib's recurrent policy.

    Attributes:
        networks: the actor's network, followed by the critic's network if separate.
        activity: of the actor's top layer (step, unit) in the last `evaluate_sequences`.
        vector_optimizer: moves all weights with the optimiser, as a single vector.
    """

    action_net: nn.Linear
    value_net: nn.Linear
    activity: Tensor

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        network: str = "lstm",
        units: int = 64,
        layers: int = 1,
        shared: bool = True,
        network_kwargs: Mapping[str, object] | None = None,
        structure: Structure | None = None,
        critic_reads: str = "observations",
        net_arch: list[int] | dict[str, list[int]] | None = None,
        cnn_features: int = 128,
        patience: float | None = None,
        places: int | None = None,
        precision: str = "single",
        **kwargs: Any,
    ) -> None:
        self.precision = precision
        self.chained = critic_reads == "activity"
        if self.chained and shared:
            raise ValueError("critic_reads=activity needs a critic of its own: shared=false")
        spec, options = find_network(network), dict(network_kwargs or {})
        if spec.spatial:
            kwargs.setdefault("ortho_init", False)  # large features would attend to a single place from the start
            kwargs.setdefault("features_extractor_class", SpatialFront)
            options["channels"] = SPATIAL_CHANNELS
        elif is_image_space(observation_space):
            kwargs.setdefault("features_extractor_class", ConvolutionalFront)
            kwargs.setdefault("features_extractor_kwargs", {"features_dim": cnn_features})
        kwargs.setdefault("features_extractor_class", FlattenExtractor)
        kwargs.pop("use_sde", None)
        kwargs.setdefault("optimizer_class", Adam)
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            net_arch=[] if net_arch is None else net_arch,
            lstm_hidden_size=units,
            n_lstm_layers=layers,
            shared_lstm=shared,
            enable_critic_lstm=not shared,
            **kwargs,
        )
        build: Any = spec.load()
        self.network_name = network
        self.lstm_actor = build(self.features_dim, units, layers, **options)
        if not shared:
            self.lstm_critic = build(units if self.chained else self.features_dim, units, layers, **options)
        if places is not None:
            self.action_net = head = PlaceCode(self.action_net.in_features, action_space, places)
            if isinstance(self.features_extractor, SpatialFront) and not self.net_arch and head.centers.shape[1] == 2:
                head.follow(*self.features_extractor.grid)
        networks: list[Any] = [self.lstm_actor, self.lstm_critic]
        self.networks: list[RecurrentNetwork] = [net for net in networks if net is not None]
        if patience is not None and isinstance(action_space, spaces.Discrete):
            with torch.no_grad():
                self.action_net.bias[0] = np.log((patience - 1) * max(int(action_space.n) - 1, 1))
        if structure:
            for net in self.networks:
                constraints.impose(net, structure)
            constraints.impose_on_outputs(self, structure)
        if issubclass(self.optimizer_class, torch.optim.Adam):
            self.optimizer_kwargs.setdefault("fused", True)
        optimizer: Any = self.optimizer_class
        self.vector_optimizer = Optimizer(list(self.parameters()))
        self.optimizer = optimizer([self.vector_optimizer.vector], lr=lr_schedule(1), **self.optimizer_kwargs)
        self.rng = np.random.default_rng(int(torch.randint(2**31, (1,))))
        self._last: tuple[()] | tuple[PackedSequences, tuple[Tensor, Tensor]] | None = None  # None: not remembered

    def descend(self, gradient: Tensor, max_norm: float) -> None:
        """Step the optimiser down a gradient.

        Args:
            gradient: with respect to all weights, in the order of `parameters`.
            max_norm: length that longer gradients are shortened to.
        """
        self.vector_optimizer.step(self.optimizer, gradient, max_norm)

    def gradient(self, loss: Tensor) -> Tensor:
        """Return the gradient of a loss with respect to all weights, as a vector in the order of `parameters`."""
        gradients = torch.autograd.grad(loss, self.vector_optimizer.weights, materialize_grads=True)
        return torch.cat([gradient.flatten() for gradient in gradients])

    def features(self, obs: Tensor) -> Tensor:
        """Return the inputs of the recurrent network for observations (step, ...); equal images are computed once."""
        find: Any = self.extract_features
        if not is_image_space(self.observation_space) or obs.device.type != "cpu":
            return find(obs)

        first, index = (torch.from_numpy(array).to(obs.device) for array in distinct(obs.cpu().numpy()))
        return find(obs[first])[index]

    def evaluate_sequences(self, sequences: PackedSequences, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Values, log-probabilities and entropies (step,) of actions (step,) or (step, action)."""
        logits, values = self.outputs(sequences)
        return values, *self.log_prob_and_entropy(logits, actions)

    def outputs(self, sequences: PackedSequences) -> tuple[Tensor, Tensor]:
        """Action preferences or means (step, action), and values (step,)."""
        if self._last is None or not torch.is_grad_enabled():
            return self._run(sequences)
        if not self._last or self._last[0] is not sequences:
            self._last = sequences, self._run(sequences)
        return self._last[1]

    @contextlib.contextmanager
    def remember_outputs(self) -> Iterator[None]:
        """Run sequences once in this context, in which weights stay as they are, however often outputs are read."""
        self._last = ()
        try:
            yield
        finally:
            self._last = None

    def _run(self, sequences: PackedSequences) -> tuple[Tensor, Tensor]:
        """Run the networks and read-outs over sequences."""
        known, seq = self.compiled_weights, sequences.obs
        if known is not None and sequences.rows is None and autograd.usable(seq) and not seq.requires_grad:
            arguments = seq.flatten(1), sequences.counts, known.present(), sequences.state, sequences.noise or ()
            self.activity, logits, values = autograd.run(known.sizes, *arguments)
            return logits, values

        def run(network: RecurrentNetwork, x: Tensor, state: State, noise: Tensor | None) -> tuple[Tensor, State]:
            return network.sequence(x, sequences.counts, state, noise)

        with self.autocast():
            features = self.features(sequences.obs)
            features = features if sequences.rows is None else features[sequences.rows]
            activity, _ = self.run_networks(run, features, sequences.state, sequences.noise)
        activity = [top.to(sequences.state[0].dtype) for top in activity]
        self.activity = activity[0]
        return self.heads(activity)

    @functools.cached_property
    def compiled_weights(self) -> PolicyWeights | None:
        """Weights for the compiled passes; None if these do not know the structure of the policy."""
        return None if unusual_structure(self) else PolicyWeights(self)

    def autocast(self) -> contextlib.AbstractContextManager[object]:
        """Context in which products are computed in the precision of the policy."""
        if self.precision == "single":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def heads(self, activity: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Action preferences or means (step, action), and values (step,), of the top activity of each network."""
        values = self.value_net(self.mlp_extractor.forward_critic(activity[-1])).squeeze(-1)
        return self.action_net(self.mlp_extractor.forward_actor(activity[0])), values

    def run_networks(
        self,
        run: Callable[[RecurrentNetwork, Tensor, State, Tensor | None], tuple[Tensor, State]],
        features: Tensor,
        state: State,
        noise: Sequence[Tensor | None] | None = None,
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Run every network, the actor's first, and return the top activity of each and all arrays of the new state.

        Args:
            run: from a network, the inputs, the network's own state and noise to the top activity and the new state.
            features: inputs, in place of which a critic may read the activity of the actor.
            state: arrays of all networks.
            noise: recurrent noise of each network.
        """
        tops, after, at = list[Tensor](), list[Tensor](), 0
        for network, draws in zip(self.networks, noise or [None] * len(self.networks), strict=True):
            x = tops[0].detach() if self.chained and tops else features
            top, new = run(network, x, state[at : at + network.n_states], draws)
            tops.append(top)
            after += new
            at += network.n_states
        return tops, after

    def log_prob_and_entropy(self, logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities of actions and entropies, of action preferences or means."""
        if isinstance(self.action_space, spaces.Discrete):
            every = torch.log_softmax(logits, -1)
            log_probs = every.gather(-1, actions.long().unsqueeze(-1)).squeeze(-1)
            return log_probs, -(every.exp() * every).sum(-1)
        z = (actions - logits) * torch.exp(-self.log_std)
        log_norm = self.log_std + 0.5 * np.log(2 * np.pi)
        return -(0.5 * z * z + log_norm).sum(-1), (0.5 + log_norm).sum().expand(z.shape[:-1])

    def actor(self) -> Actor:
        """A NumPy snapshot of the present weights, for many steps in a row."""
        space = self.observation_space
        front: Callable[[np.ndarray], np.ndarray] | None = None if isinstance(space, spaces.Box) else self._extracted
        if is_image_space(space):
            front = FeatureCache(self._extracted)
        read_out = ReadOut(
            [*_layers(self.mlp_extractor.policy_net), *_layers(self.action_net)],
            [*_layers(self.mlp_extractor.value_net), *_layers(self.value_net)],
            np.zeros(0) if isinstance(self.action_space, spaces.Discrete) else to_numpy(self.log_std),
            self._decoded if isinstance(self.action_net, PlaceCode) else None,
        )
        steppers = [network.stepper() for network in self.networks]
        return Actor(steppers, read_out, self.action_space, front, self.chained)

    def _decoded(self, preferences: np.ndarray) -> np.ndarray:
        """Return responses (environment, component) of preferences for places (environment, place)."""
        head: Any = self.action_net
        with torch.no_grad():
            return to_numpy(head.decode(torch.from_numpy(preferences).to(head.centers)))

    def _extracted(self, obs: np.ndarray) -> np.ndarray:
        """Output of the front end."""
        with torch.no_grad():
            features: Any = self.extract_features(self.obs_to_tensor(obs)[0])
            return features.cpu().numpy()

    def initial_state(self, n_envs: int) -> ArrayState:
        """Zero state of every network, arrays (layer, environment, unit)."""
        return tuple(state.cpu().numpy() for network in self.networks for state in network.initial_state(n_envs))

    def predict(
        self,
        observation: Any,
        state: ArrayState | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, ArrayState]:
        """As in Stable-Baselines3: actions (clipped to the action space) and the next state."""
        self.set_training_mode(False)
        act, state, batched = self.advance(
            self.actor().bind(self.rng, deterministic), observation, state, episode_start
        )
        return (act.actions if batched else act.actions[0]), state

    def advance(
        self, actor: Actor, observation: Any, state: ArrayState | None, starts: np.ndarray | None = None
    ) -> tuple[Act, ArrayState, bool]:
        """Return the output of an actor with these weights, the next state, and whether the observation was a batch."""
        tensor: Any
        tensor, batched = self.obs_to_tensor(observation)
        obs = tensor.cpu().numpy()
        state = self.initial_state(len(obs)) if state is None else state
        return *actor.act(obs, actor.restart(state, np.zeros(len(obs), bool) if starts is None else starts)), batched


def _layers(module: nn.Module) -> list[Layer]:
    """Weight, bias and following activation of each linear layer."""
    layers: list[Layer] = []
    for layer in module if isinstance(module, nn.Sequential) else [module]:
        if isinstance(layer, nn.Linear):
            layers.append((to_numpy(layer.weight.t()), to_numpy(layer.bias), ""))
        elif isinstance(layer, nn.Tanh | nn.ReLU):
            layers[-1] = (*layers[-1][:2], type(layer).__name__)
        else:
            raise ValueError(f"read-out layers must be linear, tanh or relu, not {type(layer).__name__}")
    return layers
