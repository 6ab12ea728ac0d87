"""Wrappers under the module in which NeuroGym has them."""

from neurogym.envs.multi import MultiEnvs, ScheduleEnvs
from neurogym.wrappers.random_ground_truth import RandomGroundTruth
from neurogym.wrappers.schedule_attr import ScheduleAttr
from neurogym.wrappers.trial_history import TrialHistoryV2

__all__ = ["MultiEnvs", "RandomGroundTruth", "ScheduleAttr", "ScheduleEnvs", "TrialHistoryV2"]
