"""pyrl-style course notebook: one timing for several tasks, unknown periods included."""

import warnings

import neurogym as ngym

timing = {
    "fixation": ("constant", 100),
    "stimulus": ("constant", 300),
    "delay": 0,
    "response": ("constant", 100),
    "decision": 200,
}
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for task in ("DelayComparison-v0", "PerceptualDecisionMaking-v0", "GoNogo-v0"):
        env = ngym.make(task, dt=20, timing=timing, rewards={"correct": 1, "wrong": -1})
        env.reset()
        for _ in range(50):
            env.step(0)
assert any("response" in str(w.message) for w in seen), [str(w.message) for w in seen]
assert any("'wrong'" in str(w.message) for w in seen)
env = env.unwrapped
trial = env.new_trial(foo=3, ground_truth=1)
ob, gt = env.ob, env.gt
assert trial["foo"] == 3 and ob.shape[0] == gt.shape[0]
