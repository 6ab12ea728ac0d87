"""Options of the networks: type, range, unit and default of each, without torch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from ngym_cli.config.options import About, Float, List, Switch, Table, Unspelled, Whole, word

Layers = Annotated[
    Whole, Field(ge=1, le=64, description="stacked layers"), About(also=("n_layers", "num_layers", "depth"))
]
Shared = Annotated[Switch, Field(description="one network for actor and critic, or one each")]
Readout = Annotated[
    List, Field(description="units of the hidden layers between the network and the heads"), About(also=("net_arch",))
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
Activation = Annotated[
    Annotated[Literal["tanh", "relu", "softplus"], BeforeValidator(word)],
    Field(description="what a unit does with its input"),
]
Tau = Annotated[Float, Field(gt=0, description="time constant of the units (ms)"), About(also=("time_constant",))]
Dt = Annotated[Float, Field(gt=0, description="time step of the task (ms); follows the task")]
Noise = Annotated[
    Float, Field(ge=0, description="standard deviation of the recurrent noise"), About(also=("sigma_rec", "sigma"))
]
Density = Annotated[
    Float, Field(gt=0, le=1, description="fraction of the recurrent connections that exist"), About(also=("sparsity",))
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
Inhibitory = Annotated[
    Float,
    Field(ge=0, le=1, description="fraction of inhibitory units, the last ones; all others are excitatory"),
    About(source="Song, Yang & Wang 2016, 10.1371/journal.pcbi.1004792", also=("ei_ratio", "dale")),
]
Rank = Annotated[
    Whole | None,
    Field(ge=1, description="rank of the trained recurrent weights"),
    About(source="Mastrogiuseppe & Ostojic 2018, 10.1016/j.neuron.2018.07.003", also=("low_rank",)),
]
Random = Annotated[
    Float,
    Field(ge=0, description="strength of a fixed random part added to the weights of low rank"),
    About(source="Mastrogiuseppe & Ostojic 2018, 10.1016/j.neuron.2018.07.003"),
]
Radius = Annotated[
    Float | None,
    Field(gt=0, description="spectral radius that the recurrent weights begin with"),
    About(also=("gain", "spectral_radius")),
]
Fixed = Annotated[
    List,
    Field(description="untrained parts, of input, recurrent, bias, output; the first three make a reservoir"),
    About(also=("frozen", "reservoir")),
]
Precision = Annotated[
    Annotated[Literal["single", "bf16"], BeforeValidator(word)],
    Field(description="precision of products while learning on a GPU; bf16 is half precision"),
]
Areas = Annotated[
    Table | None,
    Field(description="areas of the network, a table or a TOML file: units, input, output, from"),
    About(also=("blocks", "modules")),
]


class CommonOptions(BaseModel):
    """Options of every recurrent network."""

    layers: Layers = 1
    shared: Shared = True
    readout: Readout = []
    patience: Patience = None


class RareOptions(BaseModel):
    """Further options of every recurrent network, which most runs leave alone."""

    critic_reads: Annotated[CriticReads, Unspelled()] = "observations"
    density: Annotated[Density, Unspelled()] = 1.0
    mask: Annotated[Mask, Unspelled()] = None
    input_density: Annotated[InputDensity, Unspelled()] = 1.0
    input_mask: Annotated[InputMask, Unspelled()] = None
    output_density: Annotated[OutputDensity, Unspelled()] = 1.0
    output_mask: Annotated[OutputMask, Unspelled()] = None
    inhibitory: Annotated[Inhibitory, Unspelled()] = 0.0
    rank: Annotated[Rank, Unspelled()] = None
    random: Annotated[Random, Unspelled()] = 0.0
    radius: Annotated[Radius, Unspelled()] = None
    fixed: Annotated[Fixed, Unspelled()] = []
    areas: Annotated[Areas, Unspelled()] = None
    precision: Annotated[Precision, Unspelled()] = "single"


class LSTMOptions(BaseModel):
    """Options of lstm, long short-term memory, gates that hold and release a cell state."""

    memory: Memory = 30.0


class GRUOptions(BaseModel):
    """Options of gru, gated recurrent units, two gates and one state."""

    memory: Memory = 30.0


class RNNOptions(BaseModel):
    """Options of rnn, plain recurrent network of tanh or rectified units."""

    activation: Activation = "tanh"


class CTRNNOptions(BaseModel):
    """Options of ctrnn, leaky rate units with a time constant in ms and private recurrent noise."""

    activation: Activation = "relu"
    tau: Tau = 100.0
    dt: Dt = 100.0
    noise: Noise = 0.0


class EIRNNOptions(BaseModel):
    """Options of ei_rnn, leaky rate units, each purely excitatory or inhibitory (Dale's law)."""

    tau: Tau = 100.0
    dt: Dt = 100.0
    noise: Noise = 0.0
    inhibitory: Inhibitory = 0.2
    density: Density = 1.0
    mask: Mask = None


class MLPOptions(BaseModel):
    """Options of mlp, feed-forward network without memory."""

    layers: Layers = 2
    activation: Activation = "tanh"
