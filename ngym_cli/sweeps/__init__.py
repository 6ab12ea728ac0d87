"""Many runs: from a recipe to a folder of ordinary run folders, on one machine, a Ray cluster or Slurm.

| module | what |
|---|---|
| `recipe` | what is varied, from flags or TOML; what differs between two recipes |
| `plan` | the runs that a recipe stands for: grid, zipped parameters, seeds |
| `check` | every setting tried before the first run starts |
| `folder` | the sweep's folder: recipe, list of runs, study, errors |
| `work` | what one worker does: skip, resume or start a run |
| `search` | Optuna: parameters drawn, poor trials ended early, importance |
| `launchers` | where the work is done: `local`, `ray`, `slurm` |
| `status`, `live` | how far it is, read from the run folders alone |
| `summary`, `figures` | what came out |
| `estimate` | how long it would take |
| `running` | the command, from its flags to the last printed line |
"""
