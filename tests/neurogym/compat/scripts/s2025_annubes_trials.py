"""Trials drawn before a reset, and their durations."""

import neurogym as ngym

task = ngym.make("AnnubesEnv-v0").unwrapped
record = task._new_trial()
assert record is task.trial and record["stim_types"] in [(), ("a",), ("v",)]
assert task._duration == {"fixation": 500, "stimulus": 1000, "iti": 0}
assert {task._new_trial(stim_types=("v",))["stim_type"] for _ in range(3)} == {"v"}
assert task.observation_space.name == {"fixation": 0, "start": 1, "v": 2, "a": 3}
