"""Recurrent networks as dynamical systems: fixed points, flow, bifurcations, and similarity of dynamics.

Belongs here: what follows from a step function, its derivatives, or trajectories. May use: ``analysis``, NumPy, SciPy;
never torch.
"""

from neurogym.analysis.similarity import (
    principal_angles,
    procrustes_distance,
    sample_angles,
    svcca_distance,
    weight_distance,
)
from neurogym.dynamics.agreement import AGREEMENTS, Agreement, agreement, linear_prediction
from neurogym.dynamics.attractors import Attractors, Continuum, find_attractors
from neurogym.dynamics.basins import connections, find_between
from neurogym.dynamics.branches import Bifurcation, Branch, follow
from neurogym.dynamics.comparison import (
    METRICS,
    ComparisonSettings,
    Embedding,
    PopulationComparison,
    PopulationTrials,
    compare_populations,
    components_needed,
    shared_conditions,
)
from neurogym.dynamics.flow import FlowField, Linearisation, Plane, flow_field, linearise, selected_input
from neurogym.dynamics.limits import Limit, find_limits, spread
from neurogym.dynamics.points import FixedPoints, find_fixed_points, minimise_speed, modes
from neurogym.dynamics.similarity import (
    Operator,
    delay_embedding,
    fit_operator,
    input_distance,
    operator_distance,
)
from neurogym.dynamics.systems import GRU, LSTM, FiniteDifferences, Leaky, Stack, System, trajectories

__all__ = [
    "AGREEMENTS",
    "Agreement",
    "Attractors",
    "Bifurcation",
    "Branch",
    "ComparisonSettings",
    "Continuum",
    "Embedding",
    "FiniteDifferences",
    "FixedPoints",
    "FlowField",
    "GRU",
    "LSTM",
    "Leaky",
    "Linearisation",
    "Limit",
    "METRICS",
    "Operator",
    "Plane",
    "PopulationComparison",
    "PopulationTrials",
    "Stack",
    "System",
    "agreement",
    "compare_populations",
    "components_needed",
    "connections",
    "delay_embedding",
    "find_attractors",
    "find_between",
    "find_fixed_points",
    "find_limits",
    "fit_operator",
    "flow_field",
    "follow",
    "input_distance",
    "linear_prediction",
    "linearise",
    "minimise_speed",
    "modes",
    "operator_distance",
    "principal_angles",
    "procrustes_distance",
    "sample_angles",
    "selected_input",
    "shared_conditions",
    "spread",
    "svcca_distance",
    "trajectories",
    "weight_distance",
]
