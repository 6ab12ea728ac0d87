from neurogym.info import as_markdown, differences


def test_rows_come_from_the_metadata_of_the_tasks():
    rows = differences(["GoNogo", "RDM-v0"])
    assert ("GoNogo-v0", "withholding on a no-go trial counts as performance 1") in rows
    assert {row.task for row in rows} == {"GoNogo-v0", "PerceptualDecisionMaking-v0"}
    assert {row.task for row in rows} < {row.task for row in differences()}


def test_markdown_has_one_row_per_task():
    table = as_markdown(differences(["GoNogo", "RDM-v0"])).splitlines()
    assert table[0].count("|") == 3
    assert [line.split(" | ")[0] for line in table[2:]] == ["| GoNogo", "| PerceptualDecisionMaking"]
