"""No simple policy exceeds a known ceiling: over pairs of task and wrapper, through ``step``."""

import itertools
import pkgutil
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
import pytest

import neurogym as ngym
from neurogym.ceilings.effects import LEAVES
from neurogym.ceilings.random_agent import best_sequence
from neurogym.ceilings.stack import verdict
from neurogym.wrappers import WRAPPERS, module_of
from neurogym.wrappers.tasks import trial_of

TRIALS = 1500
ARGUMENTS = {
    "TimeOut": {"time_out": 1000},
    "CatchTrials": {"catch_prob": 0.5},
    "TrialHistoryV2": {"probs": [[0.9, 0.1], [0.1, 0.9]]},
    "SideBias": {"choice_prob": [[0.9, 0.1], [0.1, 0.9]], "block_dur": 30},
    "RandomGroundTruth": {"p": [0.8, 0.2]},
    "MissTrialReward": {"r_miss": 2.0},
}
TASKS = [
    id_
    for id_ in sorted(ngym.all_envs(tag="n-alternative") + ngym.all_envs(tag="two-alternative"))
    if ngym.make(id_).unwrapped.traits.batched and trial_of(ngym.make(id_).unwrapped).has_gt
]
LINKED = ["Priors-v0", "RDMHist-v0", "ChangingEnvironment-v0", "ContextSwitch-v0", "ReversalLearning-v0", "IBLBlock-v0"]
ONE_WRAPPER = [(name,) for name in sorted(WRAPPERS)]
STACKS = [
    *ONE_WRAPPER,
    ("TimeOut", "PassReward"),
    ("CatchTrials", "PassReward"),
    ("TrialHistoryV2", "TimeOut"),
    ("TrialHistoryV2", "PassReward"),
    ("TrialHistoryV2", "CatchTrials", "PassReward"),
    ("SideBias", "TimeOut", "PassReward"),
    ("RandomGroundTruth", "TimeOut"),
]
#: Pairs in which a ceiling was once exceeded or unreachable.
SAMPLE = [
    *itertools.product([id_ for id_ in LINKED if id_ != "RDMHist-v0"], [("TimeOut", "PassReward")]),
    ("PerceptualDecisionMaking-v0", ("TrialHistoryV2", "CatchTrials", "PassReward")),
    ("PostDecisionWager-v0", ("ReactionTime",)),
]
#: Their neighbours.
MORE = [
    *itertools.product(LINKED, [("TimeOut",), ("CatchTrials", "PassReward")]),
    *itertools.product(["RDMHist-v0", "Priors-v0"], [("TimeOut", "PassReward"), ("Variable_nch",)]),
    *itertools.product(["PerceptualDecisionMaking-v0"], STACKS[len(ONE_WRAPPER) + 3 :]),
]


def stack_of(id_: str, names: tuple[str, ...], **kwargs):
    """Return a task with wrappers, or None where they do not fit."""
    env = ngym.make(id_, **kwargs)
    try:
        for name in names:
            env = pkgutil.resolve_name(f"{module_of(name)}:{name}")(env, **ARGUMENTS.get(name, {}))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return env


@dataclass
class Session:
    """Trials of an agent that answers at random as soon as an answer is asked for."""

    truth: list[int] = field(default_factory=list)
    answer: list[int] = field(default_factory=list)
    seen: list[tuple] = field(default_factory=list)  #: step of the answer and first observation
    asked: list[tuple] = field(default_factory=list)  #: observation at the answer
    reward: list[float] = field(default_factory=list)


def play(env, policy: str, trials: int = TRIALS) -> Session:
    """Play trials: ``random`` answers, always one answer (``"1"``, ``"2"``), or ``skip``."""
    session, rng = Session(), np.random.default_rng(1)
    ob, _ = env.reset(seed=1)
    task = env.unwrapped
    hold = task.rule.hold
    answers = [a for a in range(int(env.action_space.n)) if a != hold]
    first, step, truth, settings, requested = ob, 0, -1, -1, ()
    while len(session.truth) < trials:
        gt, action = int(task.gt_now), 0 if hold is None else hold
        if gt != hold or hold is None:
            truth = gt
            if policy != "skip" and settings < 0:
                settings = int(policy) if policy.isdigit() else int(rng.choice(answers))
                action, when, requested = settings, step, tuple(np.round(np.ravel(ob), 1).tolist())
        ob, _, terminated, truncated, info = env.step(action)
        step += 1
        if info["new_trial"]:
            seen = (when, *np.round(np.ravel(first), 2).tolist()) if settings >= 0 else ()
            for column, value in zip(
                (session.truth, session.answer, session.seen, session.asked, session.reward),
                (truth, settings, seen, requested, float(info["trial_reward"])),
                strict=True,
            ):
                column.append(value)
            first, step, truth, settings, requested = ob, 0, -1, -1, ()
        if terminated or truncated:
            ob, _ = env.reset()
            first, step, truth, settings, requested = ob, 0, -1, -1, ()
    return session


def best_rule(session: Session) -> float:
    """Return the accuracy, on new trials, of the best rule that maps recent answers and one feature to an answer."""
    best, n = 0.0, len(session.truth)
    for feature, back in itertools.product(range(min(map(len, session.seen))), (1, 2)):
        past = [
            tuple(
                (session.asked[t - k], session.answer[t - k], session.seen[t - k + 1][feature])
                for k in range(1, back + 1)
            )
            for t in range(back, n)
        ]
        keys = [(now, *key) for now, key in zip(session.asked[back:], past, strict=True)]
        if len(set(keys)) > n // 10:  # a feature with noise
            continue
        half, truths = len(keys) // 2, session.truth[back:]
        counts: dict[tuple, Counter] = defaultdict(Counter)
        for key, truth in zip(keys[:half], truths, strict=False):
            counts[key][truth] += 1
        rule = {key: count.most_common(1)[0][0] for key, count in counts.items()}
        hits = [rule.get(key) == truth for key, truth in zip(keys[half:], truths[half:], strict=True)]
        best = max(best, float(np.mean(hits)))
    return best


def assert_not_exceeded(env, trials: int = TRIALS) -> bool:
    """Compare simple policies with the ceiling; return whether there is a ceiling."""
    score = verdict(env).score
    if score is None:
        return False
    slack = 3.5 * (score["error"] + 0.5 / np.sqrt(trials / 2))
    assert best_rule(play(env, "random", trials)) <= score["performance"] + slack
    if score["reward"] is not None:
        for policy in ("skip", *map(str, range(1, min(3, int(env.action_space.n))))):
            rewards = play(env, policy, trials // 4).reward
            error = np.std(rewards) / np.sqrt(len(rewards))
            assert np.mean(rewards) <= score["reward"] + 3.5 * error + 0.01, policy
    return True


@pytest.mark.parametrize(
    ("id_", "names"), [*SAMPLE, *(pytest.param(*each, marks=pytest.mark.long) for each in MORE if each not in SAMPLE)]
)
def test_ceilings_that_were_once_wrong(id_, names):
    for kwargs in ({}, {"cohs": [0]}):
        try:
            env = stack_of(id_, names, **kwargs)
        except TypeError:  # a task without coherences
            continue
        if env is not None:
            assert_not_exceeded(env)


@pytest.mark.long
@pytest.mark.parametrize("id_", TASKS)
def test_no_ceiling_is_exceeded_under_any_wrapper(id_):
    for names in STACKS:
        env = stack_of(id_, names)
        if env is not None and env.unwrapped.rule is not None:
            assert_not_exceeded(env, 600)


def test_the_search_finds_a_ceiling_that_is_too_low(monkeypatch):
    monkeypatch.setattr("neurogym.wrappers.outcomes.TELLS_OUTCOME", LEAVES)
    env = stack_of("PerceptualDecisionMaking-v0", ("TrialHistoryV2", "TimeOut"), cohs=[0])
    with pytest.raises(AssertionError):
        assert_not_exceeded(env)


@pytest.mark.parametrize(
    ("id_", "rewards", "performance", "reward"),
    [
        pytest.param("NAltPerceptualDecisionMaking-v0", {"fail": -1}, 0.829, 0.69, marks=pytest.mark.long),
        pytest.param("NAltPerceptualDecisionMaking-v0", {"fail": -2}, 0.832, 0.653, marks=pytest.mark.long),
        ("PerceptualDecisionMaking-v0", {"fail": -2}, 0.8957, 0.738),
        pytest.param("PerceptualDecisionMakingDelayResponse-v0", {"miss": 2}, 0.886, 2.0, marks=pytest.mark.long),
        ("PulseDecisionMaking-v0", {"correct": -1}, 0.960, None),
        ("DelayMatchSample-v0", {"correct": -2}, 1.0, 0.0),
    ],
)
def test_performance_and_reward_have_their_own_observers(id_, rewards, performance, reward):
    score = ngym.ceilings.ceiling(ngym.make(id_, rewards=rewards))
    assert score["performance"] == pytest.approx(performance, abs=0.01)
    assert score["reward"] == (None if reward is None else pytest.approx(reward, abs=0.01))


@pytest.mark.parametrize(
    ("id_", "name", "arguments"),
    [
        ("ReversalLearning-v0", "TimeOut", {"time_out": 500}),
        ("PostDecisionWager-v0", "ReactionTime", {}),
    ],
)
def test_unknown_where_no_calculation_is_exact(id_, name, arguments):
    result = verdict(pkgutil.resolve_name(f"{module_of(name)}:{name}")(ngym.make(id_), **arguments))
    assert result.score is None and result.why


@pytest.mark.long
def test_a_wrapper_that_draws_the_sides_takes_the_blocks_away():
    stack = pkgutil.resolve_name("neurogym.wrappers:Variable_nch")(ngym.make("IBLBlock-v0"))
    score, without_blocks = verdict(stack).score, ngym.make("IBL-v0").unwrapped.ceiling()
    assert abs(score["performance"] - without_blocks["performance"]) < 4 * score["error"]


def test_the_best_sequence_has_an_action_for_each_step():
    """Also for steps after the last at which a trial has a reward or may end."""
    env = ngym.make("RDM-v0", timing={"stimulus": ("uniform", (300, 900))})
    env.reset(seed=0)
    trials = env.unwrapped.make_trials(20)
    trials.fields["performance"][:] = 0
    trials.fields["event"][:] = 0
    assert best_sequence(trials) == [0] * int(trials.length.max())
