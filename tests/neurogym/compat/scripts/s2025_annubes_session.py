"""Annubes as of 2.2, in sessions, with its older name of the intensities."""

from neurogym.envs.native.annubes import AnnubesEnv

for session in ({"v": 1, "a": 0}, {"v": 0, "a": 1}, {"v": 0.5, "a": 0.5}):
    env = AnnubesEnv(
        session=session,
        stim_intensities=[0.8, 0.9, 1.0],
        stim_time=1000,
        catch_prob=0.5,
        fix_intensity=0,
        fix_time=500,
        dt=100,
        tau=100,
        output_behavior=[0, 1],
        noise_std=0.01,
        rewards={"abort": -0.1, "correct": +1.0, "fail": 0.0},
        random_seed=0,
    )
    env.reset()
    seen = {env.new_trial()["stim_type"] for _ in range(60)}
    allowed = {name for name, weight in session.items() if weight} | {"catch"}
    assert seen == allowed, (seen, allowed)
