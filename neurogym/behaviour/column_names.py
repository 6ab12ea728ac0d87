"""Names and words by which laboratories say what the columns of a table and their entries are: ``words.toml``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_FILE = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
_WORDS = {name: tuple(words) for name, words in _FILE["words"].items() if name != "ordered"}

#: Roles that a column can have, and names (see `neurogym.behaviour.entries.plain`) that suggest the role, best first.
COLUMN_NAMES: dict[str, tuple[str, ...]] = {role: tuple(names) for role, names in _FILE["roles"].items()}
#: Roles besides these that can be named: a cue before the choice, and whether a second stage was the common one.
MORE: dict[str, tuple[str, ...]] = {role: tuple(names) for role, names in _FILE["further_roles"].items()}
ROLES = (*COLUMN_NAMES, *MORE, "stimuli")
#: Ways in which names of PsychoPy and E-Prime end, after a dot.
ENDINGS: dict[str, tuple[str, ...]] = {role: tuple(ends) for role, ends in _FILE["endings"].items()}
#: Names of components after which OpenSesame names the columns of their answers.
COMPONENT_NAMES = {
    "choice": re.compile(r"response_(?!time)\w*(keyboard|response|mouse|button|key)\w*$"),
    "rt": re.compile(r"response_time_\w+$"),
    "correct": re.compile(r"correct_\w*(keyboard|response|mouse|button|key)\w*$"),
}
#: Names that a choice has, and a correct choice or the side of a stimulus just as well.
SIDES = _WORDS["sides"]

STIMULUS = re.compile(
    rf"^({'|'.join(_WORDS['strengths'])}|s|x|stim|stimulus|stimuli|coh|coherence|contrast|evidence|strength|intensity|freq|frequency|loudness|tone|sound|"
    r"click|clicks|duration|angle|orientation|ori|tilt|motion|level|amplitude|difference|delta|diff|signed\w*|signal|"
    r"cue|offer|left|right|morph|ratio|dotcoh|f)\d*([ab]|left|right|l|r|db|ms|hz|strength|level|contrast|coherence|evidence|diff|"
    r"difference|intensity|freq|frequency|value|clicks)?\d*$"
)
#: Parts of names of numeric columns that hold no stimulus: times, generating probabilities, counters, judgements.
NOT_STIMULI = re.compile(
    r"(time|onset|offset|started|stopped|prob|^p\d|^p_?(left|right|[a-z])$|date|index|^id|id$|number|block|count|weight|^age|phase|^q\d|^mu\d|"
    r"env|this\w*n$|fix|gaze|dwell|saccade|pupil|(^|[_.])cond|group|gender|sex|"
    r"conf|rating|(^|[_.])rt([_.]|$)|version|frame|reward|outcome|gain|loss|choice|resp|volume|period|interval|order|row|session)"
)
#: Parts of names of columns of words that are no choices: kinds of rows, groups of subjects, conditions.
NOT_CHOICES = re.compile(
    r"(type|kind|event|phase|block|task|stage|screen|sex|gender|group|cond|hand|version|lang|browser|strain|genotype|"
    r"species|treatment|drug|session|date|day|status|stim|cue|context|environment|room|site|device|difficulty|"
    r"direction|orient|sample|omission|premature|early)"
)
#: Parts of names that sound like an answer, where no name is that of a choice.
LIKE_A_CHOICE = re.compile(
    r"(chose|choice|chosen|pick|select|resp|answer|went|key|press|poke|(?<!c)lick|saccade|wheel|release|touch|^p[rl]$|^seen$|detected)"
)
#: Parts of names of what was chosen, and of what came of it or is known of it.
CHOSEN = re.compile(r"chose|pick|select|wahl|choisi|elegid")
OF_THE_CHOSEN = re.compile(
    r"reward|outcome|feedback|prob|val|amount|magnitude|time|(^|_)rt|correct|conf|rating|n_|num|count"
)
#: Names of flags of trials that differ from others by what was done to the subject, by what is earned, or by quality.
SPECIAL = re.compile(
    r"(is)?(catch|attentioncheck|autowater|autoreward(ed)?|freereward|laser|opto(genetics|stim)?|stimulation|"
    r"(micro|[ue])stim(ulation)?|inactivation|muscimol|excluded?|outlier|invalid|(?P<sound>included?|valid))(on|trial)?s?"
)
#: Names of times of answers, where no name is that of a reaction time.
LIKE_A_TIME = re.compile(
    r"(^|_)rt(_|$)|^time_?ms$|^t_?(resp|answer|choice|decision|press|poke)|"
    r"(resp|answer|choice|press|key|poke|lick|saccade|release|decision|react|mouse|click)\w*?[_. ]?"
    r"(times?|latency|onset|rt|ms)$"
)
#: Names of confidence judgements, where no name is that of confidence.
LIKE_A_JUDGEMENT = re.compile(
    r"(^|[_. ])(conf|confidence|wager)_?(pct|percent|level|score|value|scale|resp|response)?$"
)
#: Parts of names of columns of outcomes.
LIKE_A_REWARD = re.compile(r"(reward|outcome|feedback|payoff|payout|earned|result|^won|^fb|reinforced|pellet|treasure)")
#: Names of what was so in the trial before.
OF_TRIAL_BEFORE = re.compile(r"^(prev|last)|(prev|last|previous)$")
#: Names of ground truth that may as well name a graded stimulus.
STIMULUS_OR_TRUTH = _WORDS["stimulus_or_truth"]
#: Names of pairs that are stimuli although neither is alone, and of screens in tables of jsPsych.
VALUE = re.compile(r"^(value|val|v|offer|amount|magnitude|mag|ev|evidence|payoff)$")
SCREENS = set(_WORDS["screens"])
YES, NO = set(_WORDS["yes"]), set(_WORDS["no"])
MISSED = _WORDS["missed"]
#: Names of flags of trials without an answer, besides the words above.
MISSED_FLAGS = (*MISSED, *_WORDS["missed_flags"])
#: Outcomes of signal detection: beside these, a miss is an error and not a trial without an answer.
DETECTION: dict[str, bool] = _FILE["detection"]
#: Choices that say whether they were correct, and not which side was chosen.
ACCURACY: dict[str, bool] = _FILE["accuracy"]
#: Codes of a correct answer and of an error, by the name of their column; other codes mean no answer.
CODES: dict[str, tuple[int, int]] = {name: tuple(codes) for name, codes in _FILE["codes"].items()}
#: Letters for some of these, beside others.
LETTERS = {"h": "hit", "m": "miss"}
#: Choices for or against an offer, whose gains and losses are what is offered.
OFFER_CHOICES = _WORDS["offer_choices"]
CLOCKS = set(_WORDS["clocks"])
SAFE = _WORDS["safe"]
#: Continuous reports: targets that are durations, all targets, reports, and sizes of sets.
DURATIONS, REPORTS, SIZES = _WORDS["durations"], _WORDS["reports"], _WORDS["sizes"]
TARGETS = (*DURATIONS, *_WORDS["targets"])
#: Pairs of choices of which the first comes first as an option, whatever the alphabet says.
ORDERED = tuple((first, second) for first, second in _FILE["words"]["ordered"])
