"""Support for scripts written for NeuroGym, beyond this package's own names.

``changes`` lists where old names are now; ``finder`` lets old paths and names be imported; ``members`` has the old
attributes of environments; ``one_trial`` describes one trial at a time on the environment itself, ``trial_env`` adds
steps programmed in ``_step``; ``leniency`` warns where NeuroGym accepts in silence; ``lists`` makes older lists.

Belongs here: what only old scripts need. `neurogym.toml` may name every part. May use: nothing, where the core uses it;
`one_trial` the trials.
"""
