"""What is deliberately different from NeuroGym in the toolkit itself; tasks say theirs in their metadata."""

from __future__ import annotations

#: Part of the toolkit to what is different there.
TOOLKIT: dict[str, tuple[str, ...]] = {
    "step": (
        'info["trial"] describes the trial that ended, as info["performance"] and info["gt"] do, not the next one',
        "observations are the caller's own arrays; changing them does not change the trial",
        "a trial of n rows lasts n steps at every dt, also at one that is not a whole number of ms",
        "performance is set back before a trial is made, so that what _new_trial gives counts (correct withholding)",
    ),
    "reset": (
        "takes no step and returns row 0 of the first trial; the options no_step and step_fn have no effect",
        "reset(seed=...) seeds the task, its wrappers, schedules and durations; the action space is left alone",
    ),
    "rng": (
        "one Generator per environment, under the names of RandomState, too; a seed gives other numbers than there",
    ),
    "timing": (
        "NumPy numbers and arrays are durations, too; what is no duration is refused when the task is made",
        "'until' counts from the start of the trial that is described, also in its first period",
        "periods of earlier trials are forgotten: start_t, end_t, start_ind and end_ind have those of the present one",
        "every argument `timing` and `rewards` is merged with the task's own",
    ),
    "version": (
        "neurogym.__version__ and importlib.metadata.version('neurogym') are that of the interface, 2.3.1; "
        "neurogym.VERSION and importlib.metadata.version('ngym') are the package's own",
    ),
    "names": (
        "an unknown period, reward, condition, setting or argument of Monitor is warned of once, with the nearest name",
        "an unknown id names the closest ones; all_wrappers() lists class names, which are also accepted with -v0",
    ),
    "wrappers": (
        "any order that has a meaning works; one that has none is refused with the order that is needed",
        "two wrappers that decide the same condition of a trial are refused",
        "columns of PassAction and PassReward have names, are zero after a reset, and keep the type of the observation",
    ),
    "Noise": ("the stored trial is not changed",),
    "RandomGroundTruth": ("other conditions that are asked for are kept; p is in the trial's record",),
    "ReactionTime": (
        "tr_dur is the number of steps of the trial; the delay is answered like the stimulus",
        "Dataset sees the changed ground truth, too",
    ),
    "SideBias": ("the first block has its full length; blocks start anew with every reset",),
    "TrialHistoryV2": ("lists are accepted; rows that do not sum to 1 are refused",),
    "ScheduleEnvs": (
        "the step that ends a trial returns row 0 of the next task's trial; every trial begins at its first row",
        "tasks have random streams of their own, also when schedules are nested",
        "MultiEnvs is ScheduleEnvs without a schedule and resets like it",
    ),
    "Monitor": (
        "evaluate_policy runs on a copy: nothing of it is in the training data; mean_reward is the mean reward",
        "files hold the numbers of info and of the trial's record, one column each, and load without pickle",
        "the folder is made when the first file is written",
    ),
    "Config": ("environment variables win over the file", "a chosen file belongs to one Config, not to all"),
    "Dataset": (
        "batches are copies, follow from `seed`, and use every window; step wrappers are included",
        "tasks without a ground truth are refused; EconomicDecisionMaking has one",
    ),
    "plotting": (
        "Matplotlib's settings are left alone; Stable-Baselines3 is not needed",
        "plot_psychometric fits by likelihood, returns (beta, alpha), and takes its limits from the data",
        "plot_rew_across_training reads the files that Monitor writes",
    ),
    "logger": ("a logger of the standard library with a handler of its own, not loguru's",),
    "psychopy": ("the image tasks need no PsychoPy; the image form of SpatialSuppressMotion has its own id",),
}
