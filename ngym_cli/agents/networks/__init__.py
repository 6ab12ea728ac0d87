"""Recurrent networks by name. The table imports no torch; `NetworkSpec.load` and users' own cells do.

Options are declared in `ngym_cli.agents.networks` and checked before a network is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic.fields import FieldInfo

from ngym_cli.agents import user_classes
from ngym_cli.agents.networks.connectome import as_table
from ngym_cli.config import extensions, options
from ngym_cli.config.options import About, Float, List, OmittedByDefault, OptionTable, Switch, Table, Whole, Word, word
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from ngym_cli.agents.networks.base import RecurrentNetwork


__all__ = ["NETWORKS", "NetworkSpec", "find_network"]

Layers = Annotated[
    Whole, Field(ge=1, le=64, description="stacked layers"), About(aliases=("n_layers", "num_layers", "depth"))
]
Shared = Annotated[Switch, Field(description="one network for actor and critic, or one each")]
Readout = Annotated[
    List,
    Field(description="units of the hidden layers between the network and the heads"),
    About(aliases=("net_arch",)),
]
CriticReads = Annotated[
    Annotated[Literal["observations", "activity"], BeforeValidator(word)],
    Field(description="inputs of a critic of its own (shared=false)"),
    About(source="Song, Yang & Wang 2017, 10.7554/eLife.21492"),
]
Patience = Annotated[
    Float | None,
    Field(
        gt=1,
        description="steps (mean) for which the untrained agent keeps its first action; none: all actions "
        "are equally likely",
    ),
]
Memory = Annotated[
    Float,
    Field(ge=1, description="time constants (steps) that the gates begin with are spread from 1 to this"),
    About(source="Tallec & Ollivier 2018, arXiv:1804.11188"),
]
Template = Annotated[Float, Field(ge=1, description="time constant (steps) that the remembered template begins with")]
Activation = Annotated[
    Annotated[Literal["tanh", "relu", "softplus"], BeforeValidator(word)],
    Field(description="what a unit does with its input"),
]
Tau = Annotated[Float, Field(gt=0, description="time constant of the units (ms)"), About(aliases=("time_constant",))]
Dt = Annotated[Float, Field(gt=0, description="time step of the task (ms); follows the task")]
Noise = Annotated[
    Float, Field(ge=0, description="standard deviation of the recurrent noise"), About(aliases=("sigma_rec", "sigma"))
]
Density = Annotated[
    Float,
    Field(gt=0, le=1, description="fraction of the recurrent connections that exist"),
    About(aliases=("sparsity",)),
]
Mask = Annotated[
    List | None, Field(description="recurrent connections that exist: matrix (to, from) of zeros and ones")
]
InputDensity = Annotated[Float, Field(gt=0, le=1, description="fraction of the connections from inputs that exist")]
InputMask = Annotated[
    List | None, Field(description="connections from inputs that exist: matrix (to, from) of zeros and ones")
]
OutputDensity = Annotated[Float, Field(gt=0, le=1, description="fraction of the connections to outputs that exist")]
OutputMask = Annotated[List | None, Field(description="units (zeros and ones) that are read out")]
Ring = Annotated[
    Whole | None,
    Field(
        ge=1,
        description="harmonics of the preferences over actions that are angles, so that neighbouring angles "
        "share what is learned; none: each action has weights of its own",
    ),
    About(aliases=("harmonics",)),
]
Places = Annotated[
    Whole | None,
    Field(
        ge=2,
        le=4096,
        description="places along each component of a continuous action, from the lowest to the highest value; "
        "supervised learning then chooses among the places of this grid; none: it predicts the mean of the action",
    ),
]
Inhibitory = Annotated[
    Float,
    Field(ge=0, le=1, description="fraction of inhibitory units, the last ones; all others are excitatory"),
    About(source="Song, Yang & Wang 2016, 10.1371/journal.pcbi.1004792", aliases=("ei_ratio", "dale")),
]
Rank = Annotated[
    Whole | None,
    Field(ge=1, description="rank of the trained recurrent weights"),
    About(source="Mastrogiuseppe & Ostojic 2018, 10.1016/j.neuron.2018.07.003", aliases=("low_rank",)),
]
Random = Annotated[
    Float,
    Field(ge=0, description="strength of a fixed random part added to the weights of low rank"),
    About(source="Mastrogiuseppe & Ostojic 2018, 10.1016/j.neuron.2018.07.003"),
]
Radius = Annotated[
    Float | None,
    Field(gt=0, description="spectral radius that the recurrent weights begin with"),
    About(aliases=("gain", "spectral_radius")),
]
Fixed = Annotated[
    List,
    Field(description="untrained parts, of input, recurrent, bias, output; the first three make a reservoir"),
    About(aliases=("frozen", "reservoir")),
]
Precision = Annotated[
    Annotated[Literal["single", "bf16"], BeforeValidator(word)],
    Field(description="precision of products while learning on a GPU; bf16 is half precision"),
]
ConnectomeFile = Annotated[
    Annotated[dict[str, Any], BeforeValidator(as_table)] | None,
    Field(description="file (.npz, .csv) with the recurrent connections that exist and their first weights (to, from)"),
    About(aliases=("weights", "connections")),
]
Prune = Annotated[
    Word | None,
    Field(
        description="pruning of recurrent and input weights during training, as in magnitude:0.9:by=200000: "
        "the final share that is zero, and the step at which it is reached (half of the training)"
    ),
    About(source="Zhu & Gupta 2017, arXiv:1710.01878", aliases=("pruning",)),
]
Areas = Annotated[
    Table | None,
    Field(description="areas of the network, a table or a TOML file: units, input, output, from"),
    About(aliases=("blocks", "modules")),
]


class CommonOptions(OptionTable):
    """Options of every recurrent network."""

    layers: Layers = 1
    shared: Shared = True
    readout: Readout = []
    patience: Patience = None


class RareOptions(OptionTable):
    """Further options of every recurrent network, which most runs leave alone."""

    critic_reads: Annotated[CriticReads, OmittedByDefault()] = "observations"
    density: Annotated[Density, OmittedByDefault()] = 1.0
    mask: Annotated[Mask, OmittedByDefault()] = None
    input_density: Annotated[InputDensity, OmittedByDefault()] = 1.0
    input_mask: Annotated[InputMask, OmittedByDefault()] = None
    output_density: Annotated[OutputDensity, OmittedByDefault()] = 1.0
    output_mask: Annotated[OutputMask, OmittedByDefault()] = None
    ring: Annotated[Ring, OmittedByDefault()] = None
    places: Annotated[Places, OmittedByDefault()] = None
    inhibitory: Annotated[Inhibitory, OmittedByDefault()] = 0.0
    rank: Annotated[Rank, OmittedByDefault()] = None
    random: Annotated[Random, OmittedByDefault()] = 0.0
    radius: Annotated[Radius, OmittedByDefault()] = None
    fixed: Annotated[Fixed, OmittedByDefault()] = []
    areas: Annotated[Areas, OmittedByDefault()] = None
    connectome: Annotated[ConnectomeFile, OmittedByDefault()] = None
    prune: Annotated[Prune, OmittedByDefault()] = None
    precision: Annotated[Precision, OmittedByDefault()] = "single"


class LSTMOptions(OptionTable):
    """Options of lstm, long short-term memory, gates that hold and release a cell state."""

    memory: Memory = 30.0


class GRUOptions(OptionTable):
    """Options of gru, gated recurrent units, two gates and one state."""

    memory: Memory = 30.0


class RNNOptions(OptionTable):
    """Options of rnn, plain recurrent network of tanh or rectified units."""

    activation: Activation = "tanh"


class CTRNNOptions(OptionTable):
    """Options of ctrnn, leaky rate units with a time constant in ms and private recurrent noise."""

    activation: Activation = "relu"
    tau: Tau = 100.0
    dt: Dt = 100.0
    noise: Noise = 0.0


class EIRNNOptions(OptionTable):
    """Options of ei_rnn, leaky rate units, each purely excitatory or inhibitory (Dale's law)."""

    tau: Tau = 100.0
    dt: Dt = 100.0
    noise: Noise = 0.0
    inhibitory: Inhibitory = 0.2
    density: Density = 1.0
    mask: Mask = None


class AttentionOptions(OptionTable):
    """Options of attention, long short-term memory that attends to the places that resemble a template."""

    memory: Memory = 30.0
    template: Template = 10.0


class MLPOptions(OptionTable):
    """Options of mlp, feed-forward network without memory."""

    layers: Layers = 2
    activation: Activation = "tanh"


#: Features of each place of an image, of networks that read places.
SPATIAL_CHANNELS = 32

#: Options of every recurrent network; the second ones are left alone by most runs.
COMMON, RARE = CommonOptions.model_fields, RareOptions.model_fields


@dataclass(frozen=True)
class NetworkSpec:
    """Selectable network with source and options.

    Attributes:
        own: options that not every recurrent network has, or that have other defaults.
        own_class: class of a user's own cell; None for built-in networks.
        spatial: whether the network reads features of each place of an image (`SPATIAL_CHANNELS`), not of the image.
    """

    name: str
    summary: str
    paper: str
    path: str
    own: dict[str, FieldInfo]
    recurrent: bool = True
    own_class: type | None = None
    spatial: bool = False

    def load(self) -> Callable[..., RecurrentNetwork]:
        """Import the network's class, called with features, units, layers and options (this imports torch)."""
        if self.own_class is not None:
            from ngym_cli.agents.networks.cell import build_network

            return partial(build_network, self.own_class, self.name)
        return resolve_name(self.path)

    @cached_property
    def described(self) -> dict[str, FieldInfo]:
        """Options that can be set."""
        if not self.recurrent:
            return self.own
        return {**COMMON, **self.own, **{name: field for name, field in RARE.items() if name not in self.own}}

    @cached_property
    def defaults(self) -> Values:
        """Default of each of the network's own options."""
        return options.defaults(self.own)

    @cached_property
    def options(self) -> Values:
        """Default of every option."""
        return options.defaults(self.described)


BUILT_IN_NETWORKS = (
    NetworkSpec(
        "lstm",
        "long short-term memory, gates that hold and release a cell state",
        "Hochreiter & Schmidhuber 1997, 10.1162/neco.1997.9.8.1735",
        "ngym_cli.agents.networks.gated:LSTM",
        LSTMOptions.model_fields,
    ),
    NetworkSpec(
        "gru",
        "gated recurrent units, two gates and one state",
        "Cho et al. 2014, arXiv:1406.1078",
        "ngym_cli.agents.networks.gated:GRU",
        GRUOptions.model_fields,
    ),
    NetworkSpec(
        "rnn",
        "plain recurrent network of tanh or rectified units",
        "Elman 1990, 10.1207/s15516709cog1402_1",
        "ngym_cli.agents.networks.leaky:RNN",
        RNNOptions.model_fields,
    ),
    NetworkSpec(
        "ctrnn",
        "leaky rate units with a time constant in ms and private recurrent noise",
        "Yang, Joglekar, Song, Newsome & Wang 2019, 10.1038/s41593-018-0310-2",
        "ngym_cli.agents.networks.leaky:CTRNN",
        CTRNNOptions.model_fields,
    ),
    NetworkSpec(
        "ei_rnn",
        "leaky rate units, each purely excitatory or inhibitory (Dale's law)",
        "Song, Yang & Wang 2016, 10.1371/journal.pcbi.1004792",
        "ngym_cli.agents.networks.leaky:EIRNN",
        EIRNNOptions.model_fields,
    ),
    NetworkSpec(
        "attention",
        "long short-term memory that attends to the places of an image that resemble a remembered template",
        "Desimone & Duncan 1995, 10.1146/annurev.ne.18.030195.001205",
        "ngym_cli.agents.networks.attention:build",
        AttentionOptions.model_fields,
        spatial=True,
    ),
    NetworkSpec(
        "mlp",
        "feed-forward network without memory",
        "",
        "stable_baselines3.common.policies:ActorCriticPolicy",
        MLPOptions.model_fields,
        recurrent=False,
    ),
)

NETWORKS: dict[str, NetworkSpec] = {spec.name: spec for spec in BUILT_IN_NETWORKS}


def find_network(name: str) -> NetworkSpec:
    """Return the entry of a network; torch is imported for a user's own cell only.

    Raises:
        UserError: if there is none, with the nearest name, or a user's own cell cannot be imported or is not a cell.
    """
    if name in NETWORKS:
        return NETWORKS[name]
    cls = user_classes.network_class(name)
    if cls is None:
        raise unknown("network", name, [*NETWORKS, *extensions.offered("network")])
    fields = user_classes.network_options(cls, name)
    if reserved := [option for option in fields if option in COMMON]:
        raise UserError(f"network {name}: {reserved[0]} is an option of every network; give the argument another name")
    return NetworkSpec(name, user_classes.summary_of(cls, "a cell of your own"), "", name, fields, own_class=cls)
