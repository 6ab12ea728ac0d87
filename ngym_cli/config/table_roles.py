"""Options for the roles of the columns of a table of behaviour."""

from __future__ import annotations

#: Roles of the columns of a table of behaviour, and the help of their options.
ROLES = {
    "subject": "Column of the subject.",
    "session": "Column of the session.",
    "trial": "Column of the trial's number in its session.",
    "choice": "Column of the choice.",
    "correct": "Column that says whether the choice was correct.",
    "reward": "Column of the reward.",
    "ground_truth": "Column of the correct choice.",
    "rt": "Column of the reaction time (s or ms).",
    "stimuli": "Columns of the stimuli, as in s1,s2; 'none' for none.",
    "state": "Column of the second-stage state of a two-step task.",
    "choice2": "Column of the second-stage choice of a two-step task.",
}
