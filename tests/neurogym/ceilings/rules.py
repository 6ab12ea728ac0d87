"""Rules of ideal observers of single tasks, written apart from the package: the answer to each trial."""

import itertools
from collections.abc import Callable

import numpy as np
from scipy.special import log_ndtr


def summed(trials, period: str, channels) -> tuple[np.ndarray, np.ndarray]:
    """Sum of channels over a period, shape (n, channels), and the number of its steps, shape (n, 1)."""
    rows, total = trials.rows(period), np.zeros((trials.n, len(channels)))
    np.add.at(total, rows.trial, trials.ob[rows.index][:, list(channels)])
    return total, (trials.ends[period] - trials.starts[period])[:, None].astype(float)


def decided(sums, counts, means, values, sigma: float) -> np.ndarray:
    """Action with the highest expected value, given sums of noisy samples of one of several equally likely means.

    Args:
        sums: Shape (n, features); with ``counts``, the samples of each, shape (n, features).
        means: Noise-free sample of each feature in each case, shape (cases, features).
        values: Performance of each action in each case, shape (cases, actions), or of each trial, (n, cases, actions).
        sigma: S.d. of a sample.
    """
    sigma = max(sigma, 1e-3)
    log = (sums @ means.T - 0.5 * counts @ (means**2).T) / sigma**2
    post = np.exp(log - log.max(axis=1, keepdims=True))
    return np.einsum("nc,nca->na", post, np.broadcast_to(values, (len(sums), *np.shape(values)[-2:]))).argmax(axis=1)


def one_hot(actions, n: int) -> np.ndarray:
    return np.eye(n)[np.asarray(actions, int)]


def repeated(*pieces) -> tuple[np.ndarray, np.ndarray]:
    """Features of several periods next to each other, with their numbers of samples."""
    return np.hstack([s for s, _ in pieces]), np.hstack([np.broadcast_to(c, s.shape) for s, c in pieces])


def ring_cases(env, cohs) -> tuple[np.ndarray, np.ndarray]:
    """Noise-free samples of each direction and coherence of a ring, without the offset, and the direction."""
    theta = 2 * np.pi * np.arange(env.dim_ring) / env.dim_ring
    cases = [(d, coh) for d in range(env.dim_ring) for coh in cohs]
    return np.array([coh / 200 * np.cos(theta - theta[d]) for d, coh in cases]), np.array([d for d, _ in cases])


def of_ring(env, trials, first: int, cohs) -> np.ndarray:
    sums, count = summed(trials, "stimulus", range(first, first + env.dim_ring))
    means, direction = ring_cases(env, cohs)
    values = one_hot(1 + direction, env.dim_ring + 1)
    return decided(sums - 0.5 * count, np.broadcast_to(count, sums.shape), means, values, env.sigma)


def motion(env, trials):
    return of_ring(env, trials, 1, env.conditions["coh"])


def context(env, trials):
    each = [of_ring(env, trials, 1 + m * env.dim_ring, env.conditions[f"coh_{m + 1}"]) for m in (0, 1)]
    return np.where(trials.info["context"] == 0, *each)


def two_channels(env, trials, period="stimulus", first=1, low=1):
    sums, _ = summed(trials, period, (first, first + 1))
    return low + (sums[:, 1] > sums[:, 0])


def both_modalities(env, trials):
    sums, _ = summed(trials, "stimulus", range(1, 5))
    return 1 + (sums[:, 1] + sums[:, 3] > sums[:, 0] + sums[:, 2])


def rate(env, trials):
    if env.sensory:
        sums, _ = summed(trials, "stimulus", range(4))
        return np.where(sums[:, 0] + sums[:, 1] > sums[:, 2] + sums[:, 3], 1, 2)
    rows, log, high = trials.rows("stimulus"), [], []
    seen = trials.ob[rows.index][:, :4]
    for shown in ((1, 0), (0, 1), (1, 1)):
        for rate in env.rates:
            level = (rate - env.rates[0]) / (env.rates[-1] - env.rates[0])
            pair = np.array([env.lowest + env.span * level, env.lowest + env.span * (1 - level)])
            mean = env.baseline + np.outer(pair, shown).ravel()  # grows (visual, auditory), falls
            each = np.where(seen > 0, -((seen - mean) ** 2) / (2 * env.sigma**2), 0.0)
            each = np.where(seen > 0, each - np.log(env.sigma * np.sqrt(2 * np.pi)), log_ndtr(-mean / env.sigma))
            log.append(np.bincount(rows.trial, each.sum(axis=1)))
            high.append(rate > env.boundary)
    log = np.array(log)
    post = np.exp(log - log.max(axis=0))
    return np.where(np.array(high) @ post > ~np.array(high) @ post, 1, 2)


def comparison(env, trials):
    sums, counts = repeated(*(summed(trials, name, (1,)) for name in ("stimulus1", "stimulus2")))
    if "vpair" in env.conditions:
        low, high = np.min(env.conditions["vpair"]), np.max(env.conditions["vpair"])
        scaled = [(0.5 + 0.5 * (np.array(pair) - low) / (high - low)) for pair in env.conditions["vpair"]]
        cases = [(pair, 1) for pair in scaled] + [(pair[::-1], 2) for pair in scaled]
    else:
        cases = [(pair, 2 if pair[0] > pair[1] else 1) for pair in env.conditions["pair"]]
    return decided(sums, counts, np.array([p for p, _ in cases]), one_hot([a for _, a in cases], 3), env.sigma)


def sample_and_test(env, trials):
    units = range(1, 1 + env.dim_ring)
    sums, counts = repeated(*(summed(trials, name, units) for name in ("sample", "test")))
    theta, cases = 2 * np.pi * np.arange(env.dim_ring) / env.dim_ring, []
    for angle in theta:
        for action, test in ((1, angle), (2, angle + np.pi)):
            cases.append((np.concatenate([0.5 + 0.5 * np.cos(theta - each) for each in (angle, test)]), action))
    return decided(sums, counts, np.array([m for m, _ in cases]), one_hot([a for _, a in cases], 3), env.sigma)


def category(env, trials):
    """Whether sample and test lie in one half of the circle, angles being uniform within the halves."""
    theta, (grid, step) = 2 * np.pi * np.arange(env.dim_ring) / env.dim_ring, np.linspace(-0.5, 0.5, 400, retstep=True)
    halves = []
    for name in ("sample", "test"):
        sums, count = summed(trials, name, range(1, 1 + env.dim_ring))
        log = []
        for half in (0, 1):
            means = 0.5 + 0.5 * np.cos(theta - np.pi * (half + (grid[1:] - step / 2)[:, None]))
            log.append((sums @ means.T - 0.5 * count * (means**2).sum(1)) / max(env.sigma, 1e-3) ** 2)
        weight = np.exp(log - np.max(log, axis=(0, 2), keepdims=True)).sum(2)
        halves.append(weight[1] / weight.sum(0))
    return np.where(halves[0] * halves[1] + (1 - halves[0]) * (1 - halves[1]) >= 0.5, 1, 2)


def strongest(env, trials):
    return 1 + summed(trials, "stimulus", range(1, 1 + env.n_ch))[0].argmax(axis=1)


def pattern(env, trials):
    sums, count = summed(trials, "stimulus", range(1, 1 + env.patterns.shape[1]))
    means = 0.5 + (env.patterns - 0.5) * env.coh / 100
    values = one_hot(env.mapping, len(env.mapping) + 1)
    return decided(sums, np.broadcast_to(count, sums.shape), means, values, env.sigma)


def wager(env, trials):
    sums, count = summed(trials, "stimulus", range(1, 1 + env.dim_ring))
    means, direction = ring_cases(env, env.conditions["coh"])
    values = np.tile(one_hot(1 + direction, env.dim_ring + 2), (trials.n, 1, 1))
    sure = (env.rewards["sure"] - env.rewards["fail"]) / (env.rewards["correct"] - env.rewards["fail"])
    values[:, :, -1] = np.where(trials.info["wager"], np.clip(sure, 0, 1), -1)[:, None]
    return decided(sums - 0.5 * count, np.broadcast_to(count, sums.shape), means, values, env.sigma)


def odours(env, trials):
    sums, counts = repeated(*(summed(trials, name, range(1, 5)) for name in ("stim1", "stim2")))
    means = np.array([np.concatenate(np.eye(5)[list(pair), 1:]) for pair in ((1, 3), (1, 4), (2, 3), (2, 4))])
    return decided(sums, counts, means, one_hot([1, 0, 0, 1], 2), env.sigma)


def general(env, trials):
    second = "stim1" if env.simultaneous_stim else "stim2"
    sums, counts = repeated(summed(trials, "stim1", (1,)), summed(trials, second, (2,)))
    cases = [(truth, sign * coh / 200) for truth, sign in ((1, 1), (2, -1)) for coh in env.conditions["coh"]]
    actions = [(truth == 1) if env.gng else truth for truth, _ in cases]
    means = np.array([(0.5 + d, 0.5 - d) for _, d in cases])
    return decided(sums, counts, means, one_hot(actions, 2 if env.gng else 3), env.sigma)


def tone(env, trials):
    rows = trials.rows()
    evidence = [np.zeros(trials.n)]
    for onset in env.onsets:
        heard = (rows.step >= onset) & (rows.step < onset + env.tone)
        evidence.append(np.bincount(rows.trial, heard * trials.ob[rows.index, 0]) - env.tone / 2)
    return np.argmax(evidence, axis=0)


def shapes(env, trials):
    return 1 + (trials.info["log_odd"] > 0)


def pulses(env, trials):
    return 1 + (trials.info["count2"] > trials.info["count1"])


def one_step(env, trials):
    return two_channels(env, trials, "decision", 0, 0)


def offers(env, trials):
    value = np.column_stack([trials.info["n_a"], trials.info["n_b"] * env.B_to_A])
    return 1 + np.where(trials.info["a_first"], value[:, 1] > value[:, 0], value[:, 0] > value[:, 1])


def ring_bump(k: int) -> np.ndarray:
    """Response of ``k`` units to a stimulus at each of their directions, shape (k, k)."""
    away = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) * 2 * np.pi / k
    return 0.8 * np.exp(-0.5 * (8 * np.minimum(away, 2 * np.pi - away) / np.pi) ** 2)


def match_on_ring(env, trials):
    k, modality = env.dim_ring, np.asarray(trials.info["modality"])
    shown = []
    for name in ("sample", "test"):
        both = [summed(trials, name, range(1 + m * k, 1 + (m + 1) * k)) for m in (0, 1)]
        shown.append((np.where((modality == 1)[:, None], both[0][0], both[1][0]), both[0][1]))
    cases = []
    for s in range(k):
        for t in range(k):
            if env.category or t in (s, (s + k // 2) % k):
                same = (s < k // 2) == (t < k // 2) if env.category else s == t
                cases.append((s, t, 1 + t if same == (env.respond_to == "match") else 0))
    s, t, action = np.array(cases).T
    means = np.hstack([ring_bump(k)[s], ring_bump(k)[t]])
    return decided(*repeated(*shown), means, one_hot(action, k + 1), env.sigma)


def stronger_on_ring(env, trials):
    k, level, cases = env.dim_ring, ring_bump(env.dim_ring), []
    names = ("stim1", "stim2") if env.delayed else ("stimulus",)
    strengths = (
        [(a, b) for a in env.cohs for b in env.cohs if a != b]
        if env.delayed
        else [((1 + c) / 2, (1 - c) / 2) for c in {sign * coh for coh in env.cohs for sign in (1, -1)}]
    )
    pieces = [summed(trials, name, range(1 + (m - 1) * k, 1 + m * k)) for name in names for m in env.shown]
    for levels in itertools.product(strengths, repeat=len(env.shown)):
        evidence = sum(levels[env.shown.index(m)][0] - levels[env.shown.index(m)][1] for m in env.judged)
        if len(env.judged) > 1 and abs(evidence) < 1e-9:
            continue
        for a, b in itertools.permutations(range(k), 2):
            parts = {"stim1": (1, 0), "stim2": (0, 1), "stimulus": (1, 1)}
            mean = [p * s * level[a] + q * r * level[b] for p, q in map(parts.get, names) for s, r in levels]
            right = one_hot([1 + a, 1 + b], k + 1)
            value = right.mean(axis=0) if abs(evidence) < 1e-9 else right[int(evidence < 0)]
            cases.append((np.concatenate(mean), value))
    return decided(*repeated(*pieces), np.array([m for m, _ in cases]), np.array([v for _, v in cases]), env.sigma)


#: Task to a rule of its ideal observer, which takes the task and trials and returns the answers.
RULES: dict[str, Callable] = {
    "AuditoryComparison-v0": comparison,
    "ContextDecisionMaking-v0": context,
    "DelayComparison-v0": comparison,
    "DelayMatchCategory-v0": category,
    "DelayMatchSample-v0": sample_and_test,
    "DelayPairedAssociation-v0": odours,
    "EconomicDecisionMaking-v0": offers,
    "GenTask-v0": general,
    "IBL-v0": one_step,
    "MultiSensoryIntegration-v0": both_modalities,
    "NAltConditionalVisuomotor-v0": pattern,
    "NAltPerceptualDecisionMaking-v0": strongest,
    "PerceptualDecisionMaking-v0": motion,
    "PerceptualDecisionMakingDelayResponse-v0": two_channels,
    "PostDecisionWager-v0": wager,
    "ProbabilisticReasoning-v0": shapes,
    "PulseDecisionMaking-v0": pulses,
    "RateDiscrimination-v0": rate,
    "ToneDetection-v0": tone,
    **dict.fromkeys([f"yang19.{name}-v0" for name in ("dms", "dnms", "dmc", "dnmc")], match_on_ring),
    **dict.fromkeys(
        [f"yang19.{c}{d}dm{m}-v0" for c in ("", "ctx") for d in ("", "dly") for m in (1, 2)], stronger_on_ring
    ),
    **dict.fromkeys(["yang19.multidm-v0", "yang19.multidlydm-v0"], stronger_on_ring),
}


def reached(env, rule: Callable, trials: int) -> tuple[float, float]:
    """Performance of an observer on trials of a task, and its standard error."""
    env.reset(seed=1)
    hits = []
    for _ in range(0, trials, 1000):
        made = env.make_trials(1000)
        answer = np.asarray(rule(env, made), int)
        hits.append(made.fields["performance"][made.offset + made.length - 1, answer])
    each = np.concatenate(hits)
    return float(each.mean()), float(each.std() / np.sqrt(len(each)))
