"""Tables that several files of tests fit."""

import numpy as np
import pytest


@pytest.fixture
def rat(tmp_path):
    """A table of eight sessions of a subject that follows the stimulus and repeats choices."""
    rng, rows = np.random.default_rng(0), ["session,trial,coh,choice,correct"]
    for k in range(8):
        last = 0
        for t in range(80):
            coh = rng.choice([-1, -0.5, 0.5, 1])
            right = rng.random() < 1 / (1 + np.exp(-(2 * coh + last)))
            last = 1 if right else -1
            rows.append(f"{k},{t},{coh},{'right' if right else 'left'},{int(right == (coh > 0))}")
    path = tmp_path / "rat.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A table of four value learners without stimuli."""
    monkeypatch.chdir(tmp_path)
    rng, rows = np.random.default_rng(0), ["subject,session,choice,reward"]
    for who in range(4):
        q = np.zeros(2)
        for k in range(80):
            choice = int(rng.random() < 1 / (1 + np.exp(-4 * (q[1] - q[0]))))
            reward = int(rng.random() < (0.8 if choice == (k // 20) % 2 else 0.2))
            q[choice] += 0.5 * (reward - q[choice])
            rows.append(f"s{who},{k // 20},{choice},{reward}")
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "people.csv"
