"""Every number of the terminal is in ``--json`` and in Python, of descriptions of all kinds and of fits."""

import json
import re
import shutil
from collections.abc import Iterator

import numpy as np
import pytest

import ngym_cli as nc
from tests.neurogym.behaviour import choices_with_outcomes, laboratories

SEED = 4
LONG = pytest.mark.long
NUMBER = re.compile(r"(?<![\w./-])[-+]?\d[\d,]*\.\d+(?:e[-+]?\d+)?")


def leaves(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield the path and the value of each number in plain data."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from leaves(entry, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from leaves(entry, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)


def absent(text: str, document: object) -> list[str]:
    """Return the decimal numbers of a text that no number of a document rounds to."""
    numbers = np.array([value for _, value in leaves(document)])
    missing = []
    for word in NUMBER.findall(text):
        shown, digits = float(word.replace(",", "")), len(word.partition(".")[2].partition("e")[0])
        exponent = int(word.partition("e")[2] or 0)
        if not np.any(np.abs(numbers - shown) <= 0.5001 * 10.0 ** (exponent - digits)):
            missing.append(word)
    return missing


def many_subjects(root, rng):
    d = laboratories.detection(rng, sessions=1, trials=90)
    columns = {"subject": np.arange(len(d.right)) // 30, "x": d.signed, "choice": d.right * 1, "correct": d.correct * 1}
    return laboratories.Made(laboratories.write_csv(root / "many.csv", columns), {})


KINDS = {
    "sides and blocks": lambda root, rng: laboratories.ibl_folder(root, rng, False),
    "confidence": laboratories.confidence,
    "times in sessions": laboratories.bids,
    "rewards": laboratories.foraging,
    "gains and losses": lambda root, rng: laboratories.hbayesdm(root, rng, "igt"),
    "two stages": laboratories.kool,
    "three words": choices_with_outcomes.outcomes_in_words,
    "signals": choices_with_outcomes.detections_of_signals,
    "many subjects": many_subjects,
}


@pytest.mark.parametrize("name", KINDS)
def test_numbers_of_descriptions_are_the_same_in_terminal_document_and_python(name, tmp_path, ngym):
    made = KINDS[name](tmp_path, np.random.default_rng(SEED))
    flags = ["--by", "probabilityLeft"] if "sides" in name else []
    command = ["data", made.source, *flags, "--out", "none"]
    text, document = ngym(*command, "--full").out, json.loads(ngym(*command, "--json").out)
    assert text.count("\n") > 5
    statistics = text.partition("\ncolumn ")[0]  # the table of columns shows entries
    assert not absent(statistics, document["subjects"])
    description = nc.data(made.source, **({"by": flags[1]} if flags else {}))
    assert json.loads(json.dumps(description.to_dict(), default=float))["subjects"] == document["subjects"]
    printed = [line.strip().split("  ")[0] for line in text.splitlines()]
    names = {" ".join(path[1:]).replace("_", " ") for path, _ in leaves({"subjects": document["subjects"][:1]})}
    words = {word for each in names for word in each.replace(",", "").split()}
    always = ("accuracy", "rewards", "reaction time", "pse", "threshold", "slope")
    scalars = [each for each in printed if each in always]
    assert scalars
    for scalar in scalars:
        assert set(scalar.split()) <= words and scalar.replace(" ", "_") in description.rows[0]


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        pytest.param("sides and blocks", ["--model", "logistic:history=1,psytrack,glm-hmm:states=2"], marks=LONG),
        ("times in sessions", ["--model", "ddm,logistic", "--recover", "2"]),
        pytest.param(
            "rewards",
            ["--model", "q-learning,win-stay-lose-shift", "--subjects", "hierarchical"],
            marks=LONG,
        ),
        ("gains and losses", ["--model", "logistic:history=1"]),
    ],
)
def test_numbers_of_fits_are_the_same_in_terminal_document_and_python(name, flags, tmp_path, ngym):
    (tmp_path / "data").mkdir()
    made = KINDS[name](tmp_path / "data", np.random.default_rng(SEED))
    command = ["fit", made.source, *flags, "--folds", "2", "--runs", tmp_path / "runs", "--name", "f"]
    text = ngym(*command).out
    document = json.loads(ngym(*command, "--json").out)
    assert text.count("\n") > 5 and not absent(text, document)
    fit = nc.Fit(document["path"])
    scores = fit.scores.set_index("model")
    for label, row in document["scores"].items():
        assert scores.loc[label, "log_likelihood"] == pytest.approx(row["log_likelihood"]["value"])
    rows = fit.parameters
    for label, model in document["models"].items():
        for who, parameters in model["parameters"].items():
            chosen = rows[(rows["model"] == label) & (rows["subject"] == who)].set_index("parameter")
            for parameter, value in parameters.items():
                expected = np.nan if value["value"] is None else value["value"]
                assert chosen.loc[parameter, "value"] == pytest.approx(expected, nan_ok=True)
                assert chosen.loc[parameter, "mark"] == model.get("marks", {}).get(who, {}).get(parameter, "")


@pytest.mark.parametrize(
    "name",
    ["rewards", *(pytest.param(name, marks=LONG) for name in ("sides and blocks", "times in sessions"))],
)
def test_numbers_of_comparisons_are_the_same_in_terminal_document_and_python(name, tmp_path, ngym, run_folder):
    made = KINDS[name](tmp_path, np.random.default_rng(SEED))
    run = shutil.copytree(run_folder, tmp_path / "run")
    command = ["eval", run, "--trials", "200", "--stochastic", "--compare", made.source, "--overwrite"]
    text = ngym(*command, "--name", "beside").out
    document = json.loads(ngym(*command, "--name", "beside", "--json").out)
    compared = text.partition("compared with")[2].partition("\nfigure:")[0]
    for row in document["comparison"]["statistics"]:
        compared = compared.replace(row["name"], "", 1)  # 81.6 % threshold
    assert compared.count("\n") > 5 and not absent(compared.partition("\nleft out:")[0], document["comparison"])
    result = (
        nc.Run(run).evaluate(200, compare=made.source, deterministic=False, name="beside", overwrite=True).comparison
    )
    assert json.loads(json.dumps(result.record["statistics"])) == document["comparison"]["statistics"]
