"""Mod-Cog: the tasks of Yang et al. 2019 and their compositions, from Khona et al. 2023, 10.1162/neco_a_01613.

`ModCog` draws one of all tasks for each trial and names it by a rule input. Each task has an id as well, as in
``modcog.dlygointrseql-v0``: a word for the composition with ``int`` and one for that with ``seq``, of which the last
letter is the direction, right or left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

import numpy as np

from neurogym.envs.collections import COLLECTIONS, yang19
from neurogym.envs.collections.ring_observer import NOTICED, matching, simulated, stronger
from neurogym.envs.collections.yang19_families import Decide, Match, Respond
from neurogym.envs.psychophysics import bump, exact_ceiling, ring
from neurogym.envs.task import NonNegative, Rule, Score, TaskInfo, TrialEnv, Trials, spaces, usual_arguments
from neurogym.messages.names import unknown

#: Directions of a ring, and length of a step (ms) for which an answer moves on by one direction.
DIRECTIONS, STEP = 16, 100
#: First channel of the rule input, behind the fixation cue and two rings.
FIRST_RULE = 1 + 2 * DIRECTIONS
#: Signed coherences of two stimuli that come together, and strengths of two that follow each other.
COHERENCES = (0.08, 0.16, 0.32, 0.64, -0.08, -0.16, -0.32, -0.64)
PAIRS = tuple((a, b) for a, b in product((0.3, 0.6, 1.0), repeat=2) if a != b)
#: Signs of the words of a direction.
SHIFT_SIGNS = {"": 0, "r": 1, "l": -1}


@dataclass(frozen=True)
class Parts:
    """Parts of which a task is composed.

    Attributes:
        family: ``go``, ``dm`` or ``match``.
        reaction: Whether the stimulus comes with the go cue.
        delayed: Whether there is a delay.
        anti: Whether the answer is opposite to the stimulus, or goes to non-matching tests.
        category: Whether halves of the circle are compared, instead of directions.
        shown: Rings that show the stimuli; empty for one drawn in each trial.
        judged: Rings that count.
        integrate: 1 or -1 if the answer is shifted by the length of the delay; else 0.
        sequence: 1 or -1 if the answer moves on during the decision; else 0.
    """

    family: str
    reaction: bool = False
    delayed: bool = False
    anti: bool = False
    category: bool = False
    shown: tuple[int, ...] = ()
    judged: tuple[int, ...] = ()
    integrate: int = 0
    sequence: int = 0


def _family(name: str) -> Parts:
    """Parts of a task of ``yang19``, from what distinguishes it within its family."""
    task = getattr(yang19, name)
    arguments = task.fixed
    return Parts(
        {Respond: "go", Decide: "dm", Match: "match"}[task.of],
        reaction=arguments.get("reaction", False),
        delayed=task.of is Match or bool(arguments.get("delay") or arguments.get("delayed")),
        anti=arguments.get("anti", arguments.get("respond_to") == "non-match"),
        category=arguments.get("category", False),
        shown=tuple(m - 1 for m in arguments.get("shown", ())),
        judged=tuple(m - 1 for m in arguments.get("judged", ())),
    )


def compose(base: dict[str, Parts]) -> dict[str, Parts]:
    """Return the base tasks with all that is composed of these: ``int`` and ``seq``, each in two directions.

    Only tasks with a delay can be integrated over it.
    """
    return {
        name + f"int{along}" * bool(along) + f"seq{moved}" * bool(moved): replace(
            family, integrate=SHIFT_SIGNS[along], sequence=SHIFT_SIGNS[moved]
        )
        for along, moved in product(SHIFT_SIGNS, SHIFT_SIGNS)
        for name, family in base.items()
        if family.delayed or not along
    }


BASE = {name: _family(name) for name in COLLECTIONS["yang19"]}
COMPOSED_TASKS = compose(BASE)


class ModCog(TrialEnv):
    """Twenty tasks and their compositions, with a ring of units for each of two modalities and an action per direction.

    In ``seq`` tasks the answer moves on along the ring by one direction in each step of the decision; in ``int`` tasks
    it is shifted by one direction for each 100 ms of the delay. Performance is that of the answer in the last step.

    Args:
        tasks: ``all``, ``base`` for the twenty without compositions, or one of the tasks, which no rule input names.
        sigma: S.d. of the noise in a step, of stimuli that are judged or compared.

    Raises:
        ValueError: If there is no such task.
    """

    metadata = TaskInfo(
        doi="10.1162/neco_a_01613",
        tags=["perceptual", "n-alternative", "working memory", "context dependent", "supervised"],
        supervised="the networks of the paper learned the right outputs",
    )
    default_timing: ClassVar = {
        "fixation": 500,
        "first": 500,
        "delay": 500,
        "second": 500,
        "decision": 400,
        "report": STEP,
    }
    default_rewards: ClassVar = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0, "withhold": 1.0}
    rule = Rule(fixate=("fixation",), answer=("report",))

    @usual_arguments(dt=STEP, abort=False)
    def __init__(self, tasks: str = "all", sigma: NonNegative = 0.1):
        if tasks not in ("all", "base", *COMPOSED_TASKS):
            raise ValueError(unknown("task of Mod-Cog", tasks, ("all", "base", *COMPOSED_TASKS)))
        self.sigma, self.theta = sigma, ring(DIRECTIONS)
        several = {"all": list(COMPOSED_TASKS), "base": list(BASE)}.get(tasks)
        self.tasks, self._row_of = tasks, {name: k for k, name in enumerate(COMPOSED_TASKS if several else ())}
        if several:
            self.conditions = {"task": several}
        channels = {f"stimulus_mod{m + 1}": range(1 + m * DIRECTIONS, 1 + (m + 1) * DIRECTIONS) for m in (0, 1)}
        if self._row_of:
            channels["task"] = range(FIRST_RULE, FIRST_RULE + len(COMPOSED_TASKS))
        self.observation_space = spaces.channels({"fixation": 0, **channels})
        self.action_space = spaces.Discrete(1 + DIRECTIONS, name={"fixation": 0, "choice": range(1, 1 + DIRECTIONS)})

    def _new_trials(self, trials: Trials) -> None:
        names = [str(name) for name in trials.draw("task")] if self._row_of else [self.tasks] * trials.n
        families = [COMPOSED_TASKS[name] for name in names]
        kinds = ("family", "reaction", "delayed", "anti", "category")
        of = {kind: np.array([getattr(each, kind) for each in families]) for kind in kinds}
        moves = np.array([(each.integrate, each.sequence) for each in families])
        delay = self._lay_out(trials, of, moves)
        places, strengths, answer = self._stimuli(trials, families, of, moves[:, 0] * delay)
        trials.info.update(delay_steps=delay, answer=answer)

        rows, cue = trials.rows(), trials.rows(["fixation", "first", "delay", "second"])
        trials.ob[cue.index, 0] = 1
        if self._row_of:
            rule = np.array([self._row_of[name] for name in names])
            trials.ob[rows.index, FIRST_RULE + rule[rows.trial]] = 1
        self._show(trials, of, places, strengths)

        decide = trials.rows(["decision", "report"])
        since = decide.step - trials.starts["decision"][decide.trial]
        goes = (answer[decide.trial] + moves[decide.trial, 1] * since) % DIRECTIONS
        right = np.zeros(len(rows.index), int)
        right[decide.index] = np.where(answer[decide.trial] < 0, 0, 1 + goes)
        trials.set_groundtruth(lambda _: right)

    def closed_form(self) -> Score | None:
        """Ceiling of a single task: nothing hides the answer of ``go`` tasks, others have noise on their rings."""
        if self._row_of:
            return None
        task = COMPOSED_TASKS[self.tasks]
        if task.family == "go":
            return exact_ceiling(self, 1.0, "no noise")
        if task.family == "match":
            best = matching(self.theta, task.category, not task.anti, max(self.sigma, NOTICED))
            return simulated(self, ("first", "second"), best)
        strengths = np.array(PAIRS) if task.delayed else 0.5 + np.outer(COHERENCES, (0.5, -0.5))
        difference = strengths[:, 0] - strengths[:, 1]
        first, second = (difference * (m in task.judged) for m in (*task.shown, *task.shown)[:2])
        evidence = first[:, None] + (second if len(task.shown) > 1 else np.zeros(1))
        found = stronger(self.theta, strengths, evidence, np.ones(evidence.shape, bool), self.sigma)
        return found and simulated(self, ("first", "second") if task.delayed else ("first",), found)

    def _lay_out(self, trials: Trials, of: dict[str, np.ndarray], moves: np.ndarray) -> np.ndarray:
        """Add the periods; return the delay of each trial in steps."""
        n, rng = trials.n, trials.rng
        go, dm, match = (of["family"] == name for name in ("go", "dm", "match"))
        integrated = (moves[:, 0] != 0) & ~dm
        drawn = np.where(integrated, rng.integers(0, 12, size=n), np.where(match, rng.integers(2, 13, size=n), 5))
        delay = np.where(of["delayed"], drawn, 0)
        total = np.where(go, 5, np.where(dm, 2, 9))
        total = np.where((moves[:, 1] != 0) & ~of["reaction"], 10, total)
        steps = {
            "fixation": np.where(go, 5, np.where(dm, rng.integers(2, 6, size=n), 3)),
            "first": np.where(of["reaction"], 0, 5),
            "delay": delay,
            "second": np.where(match | (dm & of["delayed"]), 5, 0),
            "decision": total - 1,
            "report": np.ones(n, int),
        }
        trials.add_period(list(steps), [count * STEP for count in steps.values()])
        return delay

    def _stimuli(
        self, trials: Trials, families: list[Parts], of: dict[str, np.ndarray], moved: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw directions (trials, 2), strengths (trials, rings, 2), and the first direction of the answer, or -1."""
        n, rng = trials.n, trials.rng
        each, half = np.arange(n), DIRECTIONS // 2
        dm, match = of["family"] == "dm", of["family"] == "match"
        places = np.stack([rng.integers(DIRECTIONS, size=n), rng.integers(1, DIRECTIONS, size=n)], axis=1)
        places[:, 1] = (places[:, 0] + places[:, 1]) % DIRECTIONS

        coherence = rng.choice(COHERENCES[:4], size=(n, 2)) * rng.choice((-1, 1), size=(n, 2))
        pairs = np.array(PAIRS)
        distance = np.where(
            of["delayed"][:, None, None],
            pairs[rng.integers(len(pairs), size=(n, 2))],
            0.5 + np.stack([coherence, -coherence], axis=2) / 2,
        )
        on = np.array([[m in p.shown for m in (0, 1)] for p in families])
        judged = np.array([[m in p.judged for m in (0, 1)] for p in families])
        evidence = ((distance[..., 0] - distance[..., 1]) * judged).sum(axis=1) + 1e-6 * rng.choice((-1, 1), size=n)
        winner = places[each, (evidence < 0).astype(int)]

        same, second_coh = rng.random(n) < 0.5, rng.integers(half, size=n)
        sample = places[:, 0]
        test = np.where(
            of["category"], (sample // half + ~same) % 2 * half + second_coh, (sample + half * ~same) % DIRECTIONS
        )
        places[match, 1] = test[match]
        answered = np.where(match, same != of["anti"], True)
        answer = np.where(dm, winner, np.where(match, test, sample)) + np.where(of["family"] == "go", 0, moved)
        go = of["family"] == "go"
        places[go, 0] = (sample - moved + half * of["anti"])[go] % DIRECTIONS

        modality = rng.integers(2, size=n)
        strengths = np.where(
            dm[:, None, None], distance * on[..., None], (modality[:, None] == (0, 1))[..., None] * 1.0
        )
        strengths[go, :, 1] = 0
        return places, strengths, np.where(answered, answer % DIRECTIONS, -1)

    def _show(self, trials: Trials, of: dict[str, np.ndarray], places: np.ndarray, strengths: np.ndarray) -> None:
        """Show the stimuli: both in the first period where they come together, else one after the other."""
        together = (of["family"] == "dm") & ~of["delayed"]
        noisy = of["family"] != "go"
        for period in ("first", "second", "decision", "report"):
            rows = trials.rows(period)
            late = period in ("decision", "report")
            for m in (0, 1):
                level = np.zeros((trials.n, DIRECTIONS))
                for k in (0, 1):
                    now = of["reaction"] if late else ((period == "second") == k) | (together & (period == "first"))
                    level += bump(self.theta, self.theta[places[:, k]], np.where(now, strengths[:, m, k], 0.0))
                strength = level[rows.trial]
                if not late:
                    sd = self.sigma * (noisy & (strengths[:, m].max(axis=1) > 0))
                    strength = strength + sd[rows.trial, None] * trials.rng.standard_normal(strength.shape)
                trials.ob[rows.index, 1 + m * DIRECTIONS : 1 + (m + 1) * DIRECTIONS] += strength


def _words(name: str) -> str:
    """Say what a task asks for: its base task, and what this is composed with."""
    family = COMPOSED_TASKS[name]
    base = next(key for key, each in BASE.items() if each == replace(family, integrate=0, sequence=0))
    description, way = str(getattr(yang19, base).metadata["description"]), {1: "right", -1: "left"}
    if family.integrate:
        description += f"; the answer is shifted to the {way[family.integrate]} by the length of the delay"
    if family.sequence:
        description += f"; the answer moves on to the {way[family.sequence]} during the decision"
    return description


def _task(name: str) -> Callable[..., ModCog]:
    """Return a function that makes one of the tasks, with metadata and documentation."""
    metadata = ModCog.metadata.replace(description=_words(name), family="tasks of Mod-Cog")

    def make(
        dt: float = STEP,
        rewards: dict[str, float] | None = None,
        timing: dict[str, object] | None = None,
        sigma: NonNegative = 0.1,
    ) -> ModCog:
        env = ModCog(tasks=name, sigma=sigma, dt=dt, rewards=rewards, timing=timing)
        env.metadata = metadata
        return env

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{metadata['description'][0].upper()}{metadata['description'][1:]}."
    make.metadata = metadata  # type: ignore[attr-defined]
    return make


def __getattr__(name: str) -> Callable[..., ModCog]:
    """Function that makes the task of a name, such as ``dlygointrseql``."""
    if name in COMPOSED_TASKS:
        return _task(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
