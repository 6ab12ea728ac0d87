# Everything that a newcomer or CI runs. `make help` lists the targets.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
C      := $(shell find neurogym ngym_cli -name '*.[ch]')
WORKERS ?= 2

# What builds the package is held to the same versions as what it needs.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_BUILD_CONSTRAINT := $(CURDIR)/constraints.txt

# One thread per process: the tests run side by side, and small networks only lose by threading.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test coverage test-long test-learning test-lowest test-neighbours test-site lint smoke records records-sample papers \
	docs bench guard package sanitize clang aarch64 clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

# Bytecode is compiled for the first command, and for users whose Python keeps none.
$(STAMP): pyproject.toml constraints.txt CMakeLists.txt $(C)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	$(BIN)/python -m compileall -q neurogym ngym_cli
	touch $(STAMP)

setup: $(STAMP)  ## make the virtual environment and install everything

demo: $(STAMP)  ## train random-dots motion, evaluate it, draw the figures
	$(BIN)/ngym run --task RDM-v0 --wrappers pass_reward,pass_action --alg recurrent_ppo --name demo --overwrite
	$(BIN)/ngym eval runs/RDM-v0/recurrent_ppo/demo --overwrite
	$(BIN)/ngym plot runs/RDM-v0/recurrent_ppo/demo

test: $(STAMP)  ## run the tests (without those that train to a criterion)
	$(BIN)/python -m pytest -n $(WORKERS) --durations=60

coverage: $(STAMP)  ## run the tests and report the share of lines that they run
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term --cov-report=xml:build/coverage.xml

test-long: $(STAMP)  ## run the tests with many repetitions, with both tracking services
	$(BIN)/python -m pip install --quiet -e '.[wandb,mlflow]' "pyright[nodejs]"
	$(BIN)/python -m pytest -n $(WORKERS) -m long

test-learning: $(STAMP)  ## run the tests that train agents to a criterion
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

# Another version of a package, where the lowest cannot be had: make test-lowest LOWEST=torch==2.13.0
LOWEST_TESTS := tests/ngym_cli/config tests/ngym_cli/sweeps/test_search.py tests/ngym_cli/commands/test_help.py
test-lowest:  ## run a selection of the tests with the lowest versions that pyproject.toml declares
	$(PYTHON) -m venv build/lowest
	$(PYTHON) .ci/lowest.py analysis data excel formulas nwb run search slurm $(LOWEST) > build/lowest.txt
	PIP_CONSTRAINT=$(CURDIR)/build/lowest.txt build/lowest/bin/python -m pip install --quiet \
		-e '.[analysis,data,excel,formulas,nwb,run,search,slurm]' hypothesis pandas psutil pytest statsmodels
	build/lowest/bin/python -m pytest -p no:cacheprovider $(LOWEST_TESTS)

test-neighbours:  ## run the examples with HSSM, pynapple and NEMOS, in one environment with ngym
	$(PYTHON) -m venv build/neighbours
	grep -vE '^(matplotlib|pandas)==' constraints.txt > build/neighbours.txt
	PIP_CONSTRAINT=$(CURDIR)/build/neighbours.txt build/neighbours/bin/python -m pip install --quiet \
		-e '.[hssm,nwb]' nemos pynapple pytest
	build/neighbours/bin/python -m pytest -p no:cacheprovider -m neighbours tests/docs/test_neighbours.py

test-site: docs  ## load every page of the site in a headless browser
	$(BIN)/python -m pytest -n $(WORKERS) -m browser

lint: $(STAMP)  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/mypy

smoke: $(STAMP)  ## build, check and briefly train every task
	$(BIN)/ngym run --smoke --task all

records: $(STAMP)  ## make the kept numbers anew that an earlier commit made (ONLY=NAME or NAME/ITEM, JOBS=N)
	$(BIN)/python -m experiments.records --make --jobs $(or $(JOBS),1) $(foreach name,$(ONLY),--only $(name))

records-sample: $(STAMP)  ## make drawn rows of the kept numbers again, compare with the spread of the seeds (SAMPLE=N)
	$(BIN)/python -m experiments.records --sample $(or $(SAMPLE),20) $(foreach name,$(ONLY),--only $(name))

papers: $(STAMP)  ## train and measure all papers again, hold the verdicts beside our record (ONLY=PAPER, JOBS=N)
	$(BIN)/python -m experiments.reproductions --jobs $(or $(JOBS),1) $(foreach name,$(ONLY),--only $(name))

docs: $(STAMP)  ## build the documentation site in build/docs/html; trains the small agents of the tutorials and of the examples of figures
	$(BIN)/python -m docs.site build/docs/source
	rm -rf build/docs/new  # Sphinx leaves pages that are no more; the old site stays until the new one is complete
	$(BIN)/python -m sphinx -q -W -j 2 --keep-going -b html -c docs -d build/docs/trees build/docs/source build/docs/new
	rm -rf build/docs/html
	mv build/docs/new build/docs/html

bench: $(STAMP)  ## run the benchmarks
	set -e; for name in variants learner stepping; do echo "== $$name"; $(BIN)/python -m experiments.benchmarks.$$name; done

guard: $(STAMP)  ## check in two minutes that the ratios to plain loops have not got worse
	$(BIN)/python -m experiments.benchmarks.guard

package: $(STAMP)  ## build wheel and sdist, check them, try each in an empty environment
	bash .ci/package

sanitize: $(STAMP)  ## run the tests of the compiled functions under the sanitizers of memory and undefined behaviour
	bash tests/kernels.sh sanitize

clang: $(STAMP)  ## run the tests of the compiled functions as clang compiles them
	bash tests/kernels.sh clang

aarch64: $(STAMP)  ## run the tests of the compiled functions on an emulated ARM processor
	bash tests/kernels.sh aarch64

clean:  ## remove caches and the virtual environment
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
