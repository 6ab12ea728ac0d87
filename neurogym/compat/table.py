"""Table of old paths and names with present locations; nothing is imported here."""

from __future__ import annotations

import functools

SETTINGS = "neurogym.recording.settings"
PROBES = "neurogym.recording.probes"
LISTS = "neurogym.compat.lists"
HISTORY = "neurogym.wrappers.trial_history"
MULTI = "neurogym.envs.multi"
NATIVE, CONTRIB = "neurogym.envs.native", "neurogym.envs.contrib"

#: Older module to the present one that has its names. What has no such module is in ``NAMES`` alone.
MODULES: dict[str, str] = {
    "neurogym.config.base": SETTINGS,
    "neurogym.config.components": SETTINGS,
    "neurogym.config.components.agent": SETTINGS,
    "neurogym.config.components.env": SETTINGS,
    "neurogym.config.components.monitor": SETTINGS,
    "neurogym.config.components.plot": SETTINGS,
    "neurogym.config.config": "neurogym.config",
    "neurogym.config.settings": SETTINGS,
    f"{CONTRIB}.cv_learning": f"{CONTRIB}.cvlearning",
    "neurogym.envs.collections.priors": f"{NATIVE}.priors",
    f"{NATIVE}.annubes": f"{NATIVE}.annubesenv",
    f"{NATIVE}.multisensory": f"{NATIVE}.multisensoryintegration",
    f"{NATIVE}.reaching": f"{NATIVE}.reaching1d",
    "neurogym.envs.psychopy": "neurogym.envs.image",
    "neurogym.envs.psychopy.perceptualdecisionmaking": "neurogym.envs.image.randomdotmotion",
    "neurogym.envs.psychopy.spatialsuppressmotion": "neurogym.envs.image.spatialsuppressmotionimage",
    "neurogym.envs.psychopy.visualsearch": "neurogym.envs.image.visualsearch",
    "neurogym.meta": "neurogym.info",
    "neurogym.meta.info": "neurogym.info",
    "neurogym.meta.tasks_info": "neurogym.info",
    "neurogym.meta.wrappers_info": "neurogym.info",
    "neurogym.random": "neurogym.utils.ngym_random",
    "neurogym.utils.functions": "neurogym.recording.files",
    "neurogym.utils.info": "neurogym.info",
    "neurogym.utils.logging": "neurogym.messages.console",
    "neurogym.utils.plotting": "neurogym.plotting.runs",
    "neurogym.utils.psychometric": "neurogym.plotting.psychometric",
    "neurogym.utils.random": "neurogym.utils.ngym_random",
    "neurogym.utils.scheduler": "neurogym.sampling.scheduler",
    "neurogym.utils.spaces": "neurogym.spaces",
    "neurogym.multi": MULTI,
    "neurogym.sampling.patterns": "neurogym.sampling.distributions",
    "neurogym.wrappers.block": "neurogym.wrappers",
    "neurogym.wrappers.combine": f"{MULTI}.combine",
    "neurogym.wrappers.components": PROBES,
    "neurogym.wrappers.components.modules": PROBES,
    **{f"neurogym.wrappers.components.modules.{name}": PROBES for name in ("af", "base", "linear", "lstm", "rnn")},
    "neurogym.wrappers.components.probes": PROBES,
    "neurogym.wrappers.components.probes.activation": PROBES,
    **{f"neurogym.wrappers.{name}": "neurogym.wrappers.phased" for name in ("perf_phases", "shaping")},
    **{f"neurogym.wrappers.{name}": "neurogym.wrappers.pass_reward" for name in ("pass_action", "pass_gt")},
    "neurogym.wrappers.dynamic_noise": "neurogym.wrappers.noise",
    "neurogym.wrappers.variable_reaction_time": "neurogym.wrappers.reaction_time",
    "neurogym.wrappers.cv_learning": "neurogym.wrappers.curriculum_learning",
    "neurogym.wrappers.manage_data": "neurogym.wrappers.monitor",
    "neurogym.wrappers.miss_trials_reward": "neurogym.wrappers.miss_trial_reward",
    "neurogym.wrappers.schedule_envs": f"{MULTI}.schedule",
    "neurogym.wrappers.transfer_learning": f"{MULTI}.make",
    "neurogym.wrappers.trial_hist": HISTORY,
    "neurogym.wrappers.trial_hist_ev": "neurogym.wrappers.trial_history_evolution",
    "neurogym.wrappers.trial_hist_nalt": HISTORY,
    "neurogym.wrappers.trial_hist_reset": HISTORY,
}

_INFO = {name: f"{LISTS}:{name}" for name in ("all_tasks", "info", "info_wrapper")} | {
    "all_tags": "neurogym.envs.registration:all_tags",
    "all_wrappers": "neurogym.wrappers:all_wrappers",
}

#: Module, old or present, to names that are not its own and where each is, as ``module:name`` or ``module``.
NAMES: dict[str, dict[str, str]] = {
    "neurogym": {"ngym_random": "neurogym.utils.ngym_random"},
    "neurogym.config.base": {
        "CONFIG_DIR": f"{LISTS}:CONFIG_DIR",
        "ConfigBase": f"{SETTINGS}:_Section",
        "LOCAL_DIR": f"{LISTS}:LOCAL_DIR",
        "PKG_DIR": f"{SETTINGS}:PACKAGE",
        "ROOT_DIR": f"{LISTS}:ROOT_DIR",
    },
    "neurogym.core": {
        "METADATA_DEF_KEYS": f"{LISTS}:METADATA_DEF_KEYS",
        "OBNOW": "neurogym.trials.single:NOW",
        "TruncExp": "neurogym.utils.ngym_random:TruncExp",
        "trunc_exp": "neurogym.utils.ngym_random:trunc_exp",
    },
    "neurogym.envs": {"ALL_ENVS": f"{LISTS}:ALL_ENVS"},
    "neurogym.envs.collections": {"get_collection": "neurogym.envs.registration:get_collection"},
    "neurogym.envs.collections.priors": {"priors_v0": f"{NATIVE}.priors:Priors"},
    f"{CONTRIB}.leverpress": {
        "ContextSwitch": f"{CONTRIB}.contextswitch:ContextSwitch",
        "FullInput": "neurogym.compat.lists:FullInput",
    },
    f"{NATIVE}.perceptualdecisionmaking": {
        "PerceptualDecisionMakingDelayResponse": f"{NATIVE}.perceptualdecisionmakingdelayresponse"
        ":PerceptualDecisionMakingDelayResponse",
        "PulseDecisionMaking": f"{NATIVE}.pulsedecisionmaking:PulseDecisionMaking",
    },
    f"{NATIVE}.readysetgo": {
        "MotorTiming": f"{NATIVE}.motortiming:MotorTiming",
        "OneTwoThreeGo": f"{NATIVE}.onetwothreego:OneTwoThreeGo",
    },
    "neurogym.envs.psychopy": {
        "RandomDotMotion": "neurogym.envs.image.randomdotmotion:RandomDotMotion",
        "SpatialSuppressMotion": "neurogym.envs.image.spatialsuppressmotionimage:SpatialSuppressMotionImage",
        "VisualSearch": "neurogym.envs.image.visualsearch:VisualSearch",
    },
    "neurogym.envs.psychopy.spatialsuppressmotion": {
        "SpatialSuppressMotion": "neurogym.envs.image.spatialsuppressmotionimage:SpatialSuppressMotionImage"
    },
    "neurogym.envs.registration": {
        name: f"{LISTS}:{name}"
        for name in (
            "ALL_COLLECTIONS_ENVS",
            "ALL_CONTRIB_ENVS",
            "ALL_ENVS",
            "ALL_EXTENDED_ENVS",
            "ALL_NATIVE_ENVS",
            "ALL_PSYCHOPY_ENVS",
        )
    },
    "neurogym.info": _INFO,
    PROBES: {
        f"{kind}LayerProbe": f"{PROBES}:ActivationProbe"
        for kind in ("", "AF", "Activation", "Base", "GRU", "LSTM", "Linear", "RNN")
    },
    "neurogym.utils.data": {"make": "neurogym.envs.registration:make"},
    "neurogym.utils.plotting": {
        "PlotConfig": f"{SETTINGS}:PlotConfig",
        "fig_": "neurogym.plotting.runs:visualize_run",
        "order_by_sufix": "neurogym.recording.files:order_by_sufix",
        "order_by_suffix": "neurogym.recording.files:order_by_sufix",
        "plot_psychometric": "neurogym.plotting.psychometric:plot_psychometric",
        "plot_rew_across_training": "neurogym.plotting.training:plot_rew_across_training",
        "probit": "neurogym.plotting.psychometric:probit",
        "concatenate_files": "neurogym.recording.files:concatenate_files",
        "run_env": "neurogym.recording.rollout:run_env",
    },
    "neurogym.wrappers": {
        "ALL_WRAPPERS": f"{LISTS}:ALL_WRAPPERS",
        "ManageData": "neurogym.wrappers.monitor:Monitor",
    },
    "neurogym.wrappers.block": {
        "TrialEnv": "neurogym.core:TrialEnv",
        "TrialWrapper": "neurogym.core:TrialWrapper",
        "spaces": "neurogym.spaces",
    },
    "neurogym.wrappers.combine": {"combine": "neurogym.envs.multi.combine:Combine"},
    "neurogym.wrappers.manage_data": {
        "ManageData": "neurogym.wrappers.monitor:Monitor",
        "manage_data": "neurogym.wrappers.monitor:Monitor",
    },
    "neurogym.wrappers.monitor": {
        "ActivationProbe": f"{PROBES}:ActivationProbe",
        "Config": f"{SETTINGS}:Config",
        "visualize_run": "neurogym.plotting.runs:visualize_run",
    },
    "neurogym.wrappers.trial_hist_ev": {"VariableMapping": "neurogym.wrappers.variable_mapping:VariableMapping"},
}

#: Names that every module of tasks has, because its imports were visible.
IN_TASK_MODULES = {"TruncExp": "neurogym.utils.ngym_random:TruncExp"}
#: Names that every module has.
EVERYWHERE = {"_SB3_INSTALLED": f"{LISTS}:_SB3_INSTALLED", "logger": "neurogym.messages.console:logger"}


@functools.cache
def flat_modules() -> dict[str, str]:
    """Modules of tasks from before version 1, when all lay in ``neurogym.envs``, by task and by names of 2019."""
    from neurogym.envs import contrib, native
    from neurogym.envs.aliases import ALIASES, VARIANTS

    places = [(NATIVE, name) for name in native.TASKS] + [(CONTRIB, name) for name in contrib.TASKS]
    known = {name: f"{group}.{name.lower()}" for group, name in places}
    known = {name: VARIANTS.get(module, module) for name, module in known.items()}
    flat = {f"neurogym.envs.{name.lower()}": module for name, module in known.items()}
    flat |= {f"neurogym.envs.{old.rpartition('.')[2]}": new for old, new in MODULES.items() if new in known.values()}
    for old, (new, _) in ALIASES.items():
        name, new = old.removesuffix("-v0"), new.removesuffix("-v0")
        if name.isidentifier() and new in known:
            flat.setdefault(f"neurogym.envs.{name.lower()}", known[new])
    return flat


@functools.cache
def flat_names() -> dict[str, dict[str, str]]:
    """Classes of tasks under the names of 2019, by module."""
    from neurogym.envs.aliases import ALIASES

    names: dict[str, dict[str, str]] = {}
    for old in ALIASES:
        name = old.removesuffix("-v0")  # second versions had modules with the first
        if f"neurogym.envs.{name.lower()}" in flat_modules():
            names.setdefault(f"neurogym.envs.{name.lower()}", {})[name] = f"{LISTS}:{old}"
    return names


def module_of(path: str) -> str | None:
    """Present module for an older path; None for other paths."""
    if path in MODULES:
        return MODULES[path]
    if not path.startswith("neurogym.envs."):
        return None
    from neurogym.envs.aliases import VARIANTS

    return flat_modules().get(path) if path.count(".") == 2 else VARIANTS.get(path)


def names_in(path: str) -> dict[str, str]:
    """Older names in a present module, with present locations."""
    names = EVERYWHERE | NAMES.get(path, {})
    if path.startswith((f"{NATIVE}.", f"{CONTRIB}.", "neurogym.envs.collections.")):
        return {**IN_TASK_MODULES, **names}
    return names


def names_in_old(path: str) -> dict[str, str]:
    """Names in an older module that the present module lacks, with the place of each."""
    present = module_of(path)
    beside = {} if present is None else names_in(present)
    in_tasks = IN_TASK_MODULES if path.startswith("neurogym.envs.") else {}
    flat = {} if path in MODULES else flat_names().get(path, {})
    return {**in_tasks, **beside, **flat, **NAMES.get(path, {})}
