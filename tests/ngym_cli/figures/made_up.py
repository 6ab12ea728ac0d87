"""Runs made up for figures: trials of an agent that mostly waits and else answers at random."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ngym_cli import runs
from ngym_cli.agents import defaults, from_config
from ngym_cli.config.model import from_dict
from ngym_cli.evaluation import fresh_trials
from ngym_cli.files.writing import write_json, write_text
from ngym_cli.runs.trial_recorder import TrialRecorder
from ngym_cli.runs.trial_table import write_table

NO_MEMORY = {"alg": "ppo", "reset_state": "never"}
TASKS = {
    "RDM-v0": ({"wrappers": "reaction_time"}, ("psychometric", "chronometric", "conditions", "history")),
    "ContextDecisionMaking-v0": ({"task_args": {"use_expl_context": True}}, ("context", "conditions")),
    "MultiSensoryIntegration-v0": ({"task_args": {"modalities": ["both", "first", "second"]}}, ("cues",)),
    "PostDecisionWager-v0": ({}, ("wagering",)),
    "EconomicDecisionMaking-v0": ({}, ("indifference",)),
    "ReadySetGo-v0": ({}, ("interval",)),
    "TwoStep-v0": ({}, ("stay", "session", "reversal", "reward-history", "regret")),
    "DawTwoStep-v0": ({}, ("stay", "session", "reversal", "reward-history", "regret")),
    "ChangingBandit-v0": ({"task_args": {"n": 3, "session": 20}}, ("stay", "regret")),
    "GoNogo-v0": ({}, ("responses",)),
    "ReversalLearning-v0": (
        {"task_args": {"block_dur": [10, 12]}},
        ("reversal", "session", "stay", "reward-history", "regret"),
    ),
    "DynamicForaging-v0": ({}, ("session", "reversal", "stay", "reward-history", "regret")),
    "PatchLeaving-v0": ({}, ("stays",)),
    "yang19.go-v0": ({}, ("reports",)),
}


def made_up_run(folder: Path, task: str, settings: dict, trials: int = 1200) -> Path:
    """A run folder with trials of an agent that mostly waits and else answers at random."""
    config, properties = defaults.prepare(from_dict({"task": task, **NO_MEMORY, **settings}))
    venv = from_config.build_venv(config, 16)
    venv.seed(1)
    venv.reset()
    recorder = TrialRecorder(None, task, properties.dt, 16, properties.rt_from)
    rng = np.random.default_rng(0)
    steps = 0
    count = 0
    while count < trials:
        actions = rng.integers(venv.action_space.n, size=16)
        if properties.labels["action"].get("fixation") == 0:
            actions = np.where(rng.random(16) < 0.6, 0, actions)
        venv.step(actions)
        steps += 16
        if venv.finished is not None:
            recorder.add(venv.finished, steps)
            count += len(venv.finished["env"])
    table = recorder.collect()
    result = fresh_trials.summarise(table, properties)
    fresh_trials.measure(fresh_trials.EvaluatedTrials(table, result), properties)
    result.update(deterministic=False, seed=0, model_steps=steps, trials=len(table["trial"]))
    folder.mkdir(parents=True)
    write_text(folder / runs.CONFIG, config.to_toml())
    manifest = {"status": "finished", "task": task, "alg": "ppo", "network": "mlp", "seed": 0, "started": runs.now()}
    manifest |= {"chance": properties.chance, "ceiling": (properties.ceiling or {}).get("performance"), "steps": steps}
    write_json(folder / runs.MANIFEST, manifest | {"trials": len(table["trial"])})
    write_table(table, folder / runs.TRIALS / "part-000000.parquet")
    write_table(table, folder / "eval" / "final" / "trials.parquet")
    write_json(folder / "eval" / "final" / "summary.json", result)
    return folder
