"""Table of deliberate differences from NeuroGym in the toolkit; the metadata of a task lists the differences of tasks.

The page for newcomers, ``ngym list differences`` and ``ngym check --neurogym`` are made from this table.
"""

from __future__ import annotations

from typing import NamedTuple

WORKS, WARNS, CHANGED, FAILS = "works", "warns", "changed", "fails"


class Change(NamedTuple):
    """Row of the table of differences.

    Attributes:
        part: Part of the toolkit.
        what: What is different there.
        sign: What a script that is concerned has written: ``name()``, ``name(argument=)``, ``.attribute``, a subscript
            such as ``info["trial"]``, or a count such as ``step: 4 values``. Empty if it cannot be seen.
        status: Result of a check.
    """

    part: str
    what: str
    sign: str = ""
    status: str = CHANGED


CHANGES: tuple[Change, ...] = (
    Change(
        "step",
        'info["trial"] describes the trial that ended, as info["performance"] and info["gt"] do, not the next one',
        'info["trial"]',
    ),
    Change("step", "observations are the caller's own arrays; changing them does not change the trial"),
    Change("step", "a trial of n rows lasts n steps at every dt, also at one that is not a whole number of ms"),
    Change(
        "step",
        "performance is set back before a trial is made, so that what _new_trial gives counts (correct withholding)",
    ),
    Change("step", "returns five values: observation, reward, terminated, truncated, info", "step: 4 values", FAILS),
    Change(
        "step",
        "_step returns five values; of four (observation, reward, done, info), done is taken for terminated",
        "_step: 4 values",
        WARNS,
    ),
    Change(
        "reset",
        "returns row 0 of the first trial: it takes no step; no_step has no effect",
        "reset(no_step=)",
        WARNS,
    ),
    Change("reset", "takes no step, so step_fn has no effect", "reset(step_fn=)", WARNS),
    Change("reset", "returns two values: observation, info", "reset: 1 value"),
    Change(
        "reset",
        "reset(seed=...) seeds the task, its wrappers, schedules and durations; the action space is left alone",
        "reset(seed=)",
    ),
    Change(
        "rng",
        "one Generator per environment, under the names of RandomState, too; a seed gives other numbers than there",
        ".rng",
    ),
    Change(
        "timing",
        "NumPy numbers and arrays are durations, too; an invalid duration is refused when the task is made",
    ),
    Change("timing", "'until' counts from the start of the trial that is described, also in its first period"),
    Change(
        "timing",
        "periods of earlier trials are forgotten: start_t, end_t, start_ind and end_ind have those of the present one",
    ),
    Change("timing", "every argument `timing` and `rewards` is merged with the task's own"),
    Change(
        "rewards",
        "env.rewards has every reward that can be given, those that are 0 (as miss) included",
        ".rewards",
    ),
    Change(
        "sigma",
        "env.sigma is the noise per step, as there; arguments()['sigma'] and update(sigma=...) are the task's argument",
        ".sigma",
        WORKS,
    ),
    Change(
        "spaces",
        "observations without bounds have infinite ones: scaling them by their bounds is refused by Gymnasium",
        "RescaleObservation()",
    ),
    Change(
        "render",
        "render_mode='rgb_array' gives a picture of the trial so far; without one nothing is drawn",
        "render()",
    ),
    Change(
        "version",
        "neurogym.__version__ and importlib.metadata.version('neurogym') are that of the interface, 2.3.1; "
        "neurogym.VERSION and importlib.metadata.version('ngym') are the package's own",
        ".__version__",
    ),
    Change(
        "names",
        "an unknown period, reward, condition, setting or argument of Monitor is warned of once, with the nearest name",
    ),
    Change(
        "names",
        "an unknown id names the closest ones; all_wrappers() lists class names, which are also accepted with -v0",
        "all_wrappers()",
    ),
    Change(
        "modules",
        "a module put under another name in sys.modules is what scripts import; the package keeps to its own modules",
        'sys.modules["neurogym"]',
    ),
    Change(
        "wrappers",
        "any order that has a meaning works; one that has none is refused with the order that is needed",
    ),
    Change("wrappers", "two wrappers that decide the same condition of a trial are refused"),
    Change(
        "PassAction",
        "the column has a name, is zero after a reset, and keeps the type of the observation",
        "PassAction()",
    ),
    Change(
        "PassReward",
        "the column has a name, is zero after a reset, and keeps the type of the observation",
        "PassReward()",
    ),
    Change("Noise", "the stored trial is not changed", "Noise()"),
    Change(
        "RandomGroundTruth",
        "other conditions that are requested are kept; p is in the trial's record",
        "RandomGroundTruth()",
    ),
    Change(
        "ReactionTime",
        "tr_dur is the number of steps of the trial; the delay is answered like the stimulus",
        "ReactionTime()",
    ),
    Change("ReactionTime", "Dataset sees the changed ground truth, too"),
    Change("SideBias", "the first block has its full length; blocks start anew with every reset", "SideBias()"),
    Change(
        "ScheduleAttr",
        "of conditions that nobody takes there is a warning; they have no effect, as there",
        "ScheduleAttr()",
    ),
    Change("TrialHistoryV2", "lists are accepted; rows that do not sum to 1 are refused", "TrialHistoryV2()"),
    Change(
        "ScheduleEnvs",
        "the step that ends a trial returns row 0 of the next task's trial; every trial begins at its first row",
        "ScheduleEnvs()",
    ),
    Change("ScheduleEnvs", "tasks have random streams of their own, also when schedules are nested"),
    Change("MultiEnvs", "a ScheduleEnvs without a schedule, and resets like it", "MultiEnvs()"),
    Change(
        "Monitor",
        "evaluate_policy runs on a copy: nothing of it is in the training data; mean_reward is the mean reward",
        "evaluate_policy()",
    ),
    Change(
        "Monitor",
        "files hold the numbers of info and of the trial's record, one column each, and load without pickle; the "
        "folder is made when the first file is written",
        "Monitor()",
    ),
    Change(
        "Monitor",
        "layers in training mode are recorded while they act, one row at a time; plot_activations draws one "
        "environment",
        "record_activations()",
    ),
    Change(
        "Monitor",
        "traces have no batch dimension, so batch_dim has no effect",
        "plot_activations(batch_dim=)",
        WARNS,
    ),
    Change(
        "Config",
        "environment variables win over the file; a chosen file belongs to one Config, not to all",
        "Config()",
    ),
    Change(
        "Dataset",
        "batches are copies, follow from `seed`, and use every window; step wrappers are included",
        "Dataset()",
    ),
    Change("Dataset", "tasks without a ground truth are refused; EconomicDecisionMaking has one"),
    Change("plotting", "Matplotlib's settings are left alone; Stable-Baselines3 is not needed"),
    Change(
        "plotting",
        "plot_psychometric fits by likelihood, returns (beta, alpha), and takes its limits from the data",
        "plot_psychometric()",
    ),
    Change("plotting", "plot_rew_across_training reads the files that Monitor writes", "plot_rew_across_training()"),
    Change("logger", "a logger of the standard library with a handler of its own, not loguru's", ".logger"),
    Change("psychopy", "the image tasks need no PsychoPy; the image form of SpatialSuppressMotion has its own id"),
)
