"""Sweeps of runs: from a recipe to a folder of ordinary run folders, on a single machine, a Ray cluster or Slurm.

Belongs here: what knows of more than one run. May use: `training` and what it uses.

| module | what |
|---|---|
| `recipe`, `space` | what is varied, from flags or TOML; what differs between two recipes |
| `plan` | the runs that a recipe stands for: grid, zipped parameters, seeds |
| `validation` | every setting tried before the first run starts, and the expected duration |
| `folder` | the sweep's folder: recipe, list of runs, study, errors |
| `worker` | work of one worker: skip, resume or start a run, or draw a trial of a search with Optuna |
| `launchers` | where the work is done: `local`, `ray`, `slurm` |
| `status` | how far it is, read from the run folders alone |
| `results`, `tables`, `figures` | what came out, and how it is shown |
| `control` | the command, from its flags to the last printed line |
"""
