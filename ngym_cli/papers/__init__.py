"""Papers: methods and results as a folder of data, with networks trained and measured in the same way.

Belongs here: what knows of claims. May use: `sweeps` and what it uses.

| module | what |
|---|---|
| `model` | `paper.toml`: settings, parts (what is trained), claims |
| `verdicts` | when a claim counts as reached |
| `collection` | the papers that come with ngym, a user's own, and the folder of a new one |
| `script` | `figures.py` of a paper, and the measures of the library |
| `paper_runs` | what a measure and a figure are given: trained runs with their evaluations |
| `engine` | the runs of a paper, and the sweep that makes what is missing |
| `measuring` | measures claims on the runs that are done, several seeds at a time |
| `controls` | networks that do something else than what a claim is about |
| `html` | the page |
| `results` | our own record, and verdicts and numbers in words |
| `request`, `reproduction` | the command, from its words to the last printed line |
"""
