"""A sweep over conditions, each asked for, with values outside the list."""

import neurogym as ngym

env = ngym.make("DelayedComparison-v0", vpairs=[(30, 20), (20, 10)]).unwrapped
env.reset()
for vpair in env.vpairs:
    for ground_truth in env.choices:
        trial = env.new_trial(vpair=vpair, ground_truth=ground_truth)
        assert tuple(trial["vpair"]) == tuple(vpair) and env.gt[-1] == ground_truth
env = ngym.make("PerceptualDecisionMaking-v0", sigma=0).unwrapped
env.reset()
for coh in (0, 20, 75, 100):
    env.new_trial(coh=coh, ground_truth=0)
    shown = env.view_ob("stimulus")[:, 1].mean()
    assert abs(shown - (0.5 + coh / 200)) < 1e-6
