"""Analyses of behaviour and of population activity, on plain arrays or trial tables.

Names are imported when they are first used, so that importing this package costs nothing.

Belongs here: what is computed from trials or activity and knows no task. May use: `messages`.
"""

from __future__ import annotations

from neurogym.lazy import attach

_MODULES: dict[str, tuple[str, ...]] = {
    "results": ("Curve", "Estimate", "Result", "UndeterminedError", "bootstrap", "interquartile_mean", "wilson"),
    "trial_tables": (
        "MissingColumnsError",
        "as_table",
        "groups",
        "in_sequence",
        "select",
        "signed_strength",
        "two_choices",
        "with_previous",
    ),
    "psychometric": ("PsychometricFit", "fit_psychometric", "psychometric_function"),
    "block_bias": ("BlockPsychometrics", "block_psychometrics"),
    "chronometric": ("ChronometricFit", "fit_chronometric", "mean_reaction_time"),
    "outcomes": ("Rates", "ReactionTimes", "rates", "reaction_times"),
    "regression": ("ChoiceRegression", "regress_choice"),
    "history": (
        "ChoiceHistory",
        "StayProbabilities",
        "StayShift",
        "choice_history",
        "reward_history",
        "two_step",
        "win_stay_lose_shift",
    ),
    "evidence": (
        "ContextUse",
        "CueCombination",
        "CueWeights",
        "PsychophysicalKernel",
        "context_use",
        "cue_combination",
        "cue_weights",
        "psychophysical_kernel",
    ),
    "value": ("Indifference", "Wagering", "indifference_point", "wagering"),
    "estimation": ("ContinuousReports", "continuous_reports"),
    "timing": ("IntervalReproduction", "bayes_least_squares", "bayesian_reproduction", "interval_reproduction"),
    "learning": (
        "LearningCurve",
        "Options",
        "ReversalCurve",
        "binned_performance",
        "cumulative_regret",
        "learning_curve",
        "reversal_curve",
    ),
    "activity": ("Activity", "PSTH", "psth"),
    "modules": ("Modules", "find_modules", "participation"),
    "trajectories": ("TargetedAxes", "Trajectories", "path_speed", "pca_trajectories", "targeted_axes"),
    "tasks": (
        "Clusters",
        "LesionMatrix",
        "TaskVariance",
        "cluster_units",
        "lesion_matrix",
        "silhouette",
        "task_variance",
    ),
    "decoding": ("Decoding", "decode"),
    "encoding": (
        "Averages",
        "Split",
        "explained",
        "noise_ceiling",
        "regressed_on_units",
        "regressed_on_variables",
        "split",
        "without_each",
    ),
    "selectivity": ("Selectivity", "selectivity_table"),
    "similarity": (
        "RepresentationalSimilarity",
        "crossnobis",
        "dissimilarity",
        "linear_cka",
        "noise_precision",
        "representational_similarity",
    ),
    "measures": ("MEASURES", "Measure", "measures"),
    "animals": ("StatisticComparison", "compare", "distance", "load_trials"),
}

__getattr__, __all__ = attach(__name__, _MODULES, submodules=["from_trials"])


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
