"""Support for scripts written for NeuroGym, beyond this package's own names.

``changes`` lists where old names are now; ``finder`` lets old paths and names be imported; ``members`` has the old
attributes of environments; ``one_trial`` describes one trial at a time on the environment itself; ``undeclared`` takes
wrappers without a declaration for what their methods could do; ``leniency`` warns where NeuroGym accepts in silence;
``script`` reads an old script and says what of it has changed.

Belongs here: what only old scripts need. `neurogym.toml` may name every part. May use: nothing, where the core uses it;
`one_trial` the trials.
"""
