"""The flag that notebooks ask before they train."""

import neurogym as ngym
import neurogym.utils.plotting
import neurogym.wrappers.monitor

for module in (ngym, neurogym.utils.plotting, neurogym.wrappers.monitor):
    if module._SB3_INSTALLED:
        import stable_baselines3
    assert module._SB3_INSTALLED in (True, False)
