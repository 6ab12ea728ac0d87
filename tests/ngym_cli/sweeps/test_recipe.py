"""From flags and TOML to a recipe, and what makes two recipes differ."""

from __future__ import annotations

import pytest

from ngym_cli.config.fields import read_options
from ngym_cli.config.values import parse_list
from ngym_cli.errors import UserError
from ngym_cli.sweeps import recipe as recipes
from ngym_cli.sweeps import space


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0:5", [0, 1, 2, 3, 4]),
        ("16:65:16", [16, 32, 48, 64]),
        ("5:0:-2", [5, 3, 1]),
        ("1e-3,1e-4", [1e-3, 1e-4]),
        ("7,0:2", [7, 0, 1]),
        ("true,none,auto", [True, None, "auto"]),
        ("uniform:200:600,500", ["uniform:200:600", 500]),
    ],
)
def test_lists_and_ranges(text, values):
    assert parse_list(text) == values


@pytest.mark.parametrize("text", ["", " , ", "3:3", "5:0", "0:9:0", "0:1000000000"])
def test_lists_that_hold_nothing_or_too_much_are_refused(text):
    with pytest.raises(UserError):
        parse_list(text, option="--seed")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"varied.units": "1,024"}, "'024' begins with 0"),
        ({"varied.units": "1,2.5"}, "'2.5' is not a whole number"),
        ({"varied.hyperparameters": ["n_steps=1,024"]}, "'024' begins with 0"),
    ],
)
def test_a_number_with_a_comma_in_it_is_not_read_as_two(flags, message):
    with pytest.raises(UserError, match=message):
        read_options(recipes.SweepRequest, flags)


def test_whole_numbers_have_one_form_in_lists():
    request = read_options(recipes.SweepRequest, {"varied.timesteps": "1e4,2_000,10:12"})
    assert request.varied == {"timesteps": [10_000, 2_000, 10, 11]}


def test_flags_become_shared_settings_and_lists():
    flags = {
        "varied.alg": "ppo,recurrent_ppo",
        "varied.seed": "0:3",
        "varied.units": "32",
        "varied.timing": ["stimulus=300,600"],
        "varied.network": None,
        "varied.evaluation.every": "100",
        "varied.hyperparameters": ["learning_rate=1e-3,1e-4", "gamma=0.9"],
        "varied.wrappers": ["pass_reward,pass_action", "none"],
    }
    recipe = recipes.build({}, read_options(recipes.SweepRequest, flags).varied)
    assert recipe.run == {"units": 32, "evaluation": {"every": 100}, "hyperparameters": {"gamma": 0.9}}
    assert recipe.grid == {
        "alg": ["ppo", "recurrent_ppo"],
        "seed": [0, 1, 2],
        "timing.stimulus": [300, 600],
        "hyperparameters.learning_rate": [1e-3, 1e-4],
        "wrappers": ["pass_reward,pass_action", ""],
    }
    assert recipe.swept()[-1] == "seed"


def test_flags_are_laid_over_a_file():
    data = {"run": {"task": "RDM-v0", "timesteps": 5}, "grid": {"seed": "0:4", "learning_rate": [1e-3, 1e-4]}}
    recipe = recipes.build(data, {"seed": [7], "timesteps": [10, 20]})
    assert recipe.run == {"task": "RDM-v0", "seed": 7}
    assert recipe.grid == {"hyperparameters.learning_rate": [1e-3, 1e-4], "timesteps": [10, 20]}


def test_parameters_that_change_together_are_named_as_flags_or_as_keys():
    groups = recipes.zip_groups([["eval-every", "learning_rate", "timing.stimulus"]])
    assert groups == [["evaluation.every", "hyperparameters.learning_rate", "timing.stimulus"]]


def test_another_launcher_gets_no_slurm_options_of_the_recipe():
    data = {"launch": {"on": "slurm", "workers": 3, "slurm": {"partition": "gpu"}}}
    assert recipes.override(data, {"launch": {"on": "local"}}) == {"launch": {"on": "local", "workers": 3}}
    assert recipes.override(data, {"launch": {"slurm": {"time": 5}}})["launch"]["slurm"] == {
        "partition": "gpu",
        "time": 5,
    }


def test_a_recipe_survives_being_written():
    recipe = recipes.build(
        {
            "run": {"task": "RDM-v0"},
            "grid": {"seed": [0, 1]},
            "search": {"trials": 5, "space": {"units": "int:16:64"}},
            "launch": {"on": "slurm", "slurm": {"time": "2:00:00"}},
        },
        {},
    )
    import tomllib

    again = recipes.build(tomllib.loads(recipe.to_toml()), {})
    assert again == recipe
    assert recipes.differences(recipe, again) == []


def test_where_it_runs_makes_no_difference_but_what_runs_does():
    first = recipes.build({"grid": {"seed": [0, 1]}, "launch": {"on": "local"}}, {})
    two = recipes.build({"grid": {"seed": [0, 1]}, "launch": {"on": "ray"}}, {})
    three = recipes.build({"grid": {"seed": [0, 1, 2]}}, {"units": [16]})
    assert first.digest() == two.digest() != three.digest()
    assert recipes.differences(first, three) == ["run.units: not given -> 16", "grid.seed: [0, 1] -> [0, 1, 2]"] or (
        set(recipes.differences(first, three)) == {"run.units: not given -> 16", "grid.seed: [0, 1] -> [0, 1, 2]"}
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"gird": {}}, "did you mean 'grid'"),
        ({"search": {"trials": 5, "spcae": {}}}, "did you mean 'search.space'"),
        ({"grid": {"timng.stimulus": [1, 2]}}, "did you mean 'timing'"),
        ({"grid": {"units": []}}, "empty"),
        ({"grid": {"units": [1, 2], "seed": [1, 2, 3]}, "zip": [["units", "seed"]]}, "equally many"),
        ({"grid": {"units": [1, 2]}, "zip": [["units", "dt"]]}, "dt"),
        ({"grid": {"units": [1, 2]}, "search": {"trials": 2, "space": {"dt": "int:1:5"}}}, "--space units=choice"),
        ({"search": {"trials": 2, "space": {"seed": "int:1:5"}}}, "seed"),
        ({"search": {"trials": 0, "space": {"units": "int:1:5"}}}, "trials"),
        ({"search": {"trials": 2, "space": {}}}, "--space"),
    ],
)
def test_wrong_recipes_are_refused_in_one_line(data, message):
    with pytest.raises(UserError, match=message) as caught:
        recipes.build(data, {})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["lgo:1:2", "log:0:1", "log:2:1", "int:1.5:3", "int:3", "int:1:9:0", "choice:a", "float:a:b", "log", "int:1:true"],
)
def test_wrong_spaces_are_refused(text):
    with pytest.raises(ValueError, match="space units"):
        space.parse_kind("units", text)
