# Everything a newcomer needs: `make run` and `make test`. Both set up a virtual environment on first use.
VENV := .venv
PYTHON ?= python3
RUN ?= default
FAMILY ?= alignments
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
# Where jobs run: a folder of workflow/profiles. A cluster's scheduler counts cores itself, and CORES are those of this
# machine for what is too small to submit.
PROFILE ?= local
PLUGINS = $(shell sed -nE 's/^executor: *//p' $(call quoted,workflow/profiles/$(PROFILE)/profile.yaml))
# Snakemake's executor for a cluster, which the profile names, is a package of its own.
EXTRAS = $(patsubst %,$(VENV)/.extra-%,$(PLUGINS))
# What is given on the command line is one word to the shell, whatever is in it.
quoted = '$(subst ','\'',$(1))'
LEAD = $(VENV)/bin/parkf run --profile $(call quoted,$(PROFILE)) --cores $(CORES)
NAME = $(call quoted,$(RUN))

# The editable build is unisolated so that a changed formula recompiles in seconds; setuptools is for what snakemake
# needs and publishes as source alone. pip works on one core, and leaves the other ones to the compiler. Modules become
# bytecode when they are first imported, and most never are. Images of containers often forbid Python to write it: then
# each of a run's many processes would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
PIP = $(VENV)/bin/python -m pip install -q --no-compile
$(VENV)/.installed: pyproject.toml CMakeLists.txt $(wildcard src/kernel/*/* src/parkf/model/steps/*.py src/parkf/model/codegen/*.py) \
		$(wildcard params/layouts/*.json)
	@for one in "$$CXX" c++ g++ clang++; do command -v "$$one" > /dev/null && exit; done; \
		echo 'a checkout is compiled: install a C++17 compiler (g++ or clang++), or a wheel, which needs none' >&2; exit 1
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -c 'import sys; assert sys.version_info >= (3, 11), "parkf needs Python 3.11 or newer"'
	$(PIP) scikit-build-core nanobind sympy ninja 'cmake>=3.26' 'setuptools>=70.1'
	@PYTHONPATH=src $(VENV)/bin/python -m parkf.model.codegen params/layouts >/dev/null
	$(VENV)/bin/python tools/requirements.py train > $(VENV)/requirements.txt
	$(PIP) --no-build-isolation --no-deps -e . & kernel=$$!; \
		$(PIP) -r $(VENV)/requirements.txt; packages=$$?; wait $$kernel && exit $$packages
	touch $@

# Extras of this package, which is installed by now: executors for clusters, and the tools of developers.
$(VENV)/.extra-%: $(VENV)/.installed
	$(PIP) 'parkf[$*]'
	touch $@

.PHONY: run family dry-run why validate verify publish test lint docs build smoke paper studies studies-check faults clean

build: $(VENV)/.installed $(EXTRAS)

run: build  ## train, validate and report with workflow/config/$(RUN).yaml
	$(LEAD) -- $(NAME)

family: build  ## several sets in one go: workflow/config/families/$(FAMILY).yaml
	$(LEAD) --family -- $(call quoted,$(FAMILY))

dry-run: build  ## what a run would do now
	$(LEAD) --dry-run -- $(NAME)

why: build  ## in words what changed since results/$(RUN) was made, what runs again, and for how long
	@$(VENV)/bin/parkf why --cores $(CORES) -- $(NAME)

validate: build  ## train what is missing, and measure: validation.json alone
	$(LEAD) -- $(NAME) validate

verify: build  ## hold every file of results/$(RUN), and the published sets, against their checksums
	$(VENV)/bin/parkf verify $(call quoted,results/$(RUN)) params

publish: build  ## publish the set of results/$(RUN) to params/, if it meets its gates
	$(LEAD) -- $(NAME) publish

smoke paper: build  ## the run for tests; 10,000 events a polarity
	$(MAKE) run RUN=$@

# Of what mypy makes, hardly anything is garbage, and the search for it takes a quarter of the time. Mypy turns it on
# again by itself.
MYPY = $(VENV)/bin/python -c 'import gc; gc.enable = gc.disable; gc.disable(); import mypy.__main__ as m; m.console_entry()'
lint: build $(VENV)/.extra-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(MYPY)

docs: build $(VENV)/.extra-docs  ## the site of this version in build/site, and the figures in README.md
	$(VENV)/bin/python docs/generate.py
	$(VENV)/bin/python -m tools.site --into build/site

# Whole runs wait for files and for a cluster's answers: two processes more than there are cores. The type checker has
# one core, so that it runs beside the tests.
TEST = $(VENV)/bin/python -m pytest
test: build $(VENV)/.extra-dev  ## style, types and every test
	@$(MAKE) lint & style=$$!; \
		$(MAKE) $(VENV)/.read; \
		$(TEST) -n $$(($(CORES) + 2)) --dist loadfile --no-loadscope-reorder; tests=$$?; \
		wait $$style && exit $$tests

# After an installation, a single process reads the tests at first: it writes the bytecode of all modules, which each
# of the others would write anew.
$(VENV)/.read: $(VENV)/.extra-dev
	@$(TEST) --collect-only -q > /dev/null
	@touch $@

studies: build $(VENV)/.extra-dev  ## measure again what the code has changed of the figures on pages
	$(VENV)/bin/python -m tools.studies run

studies-check: build $(VENV)/.extra-dev  ## which figures on pages are of other code than this
	$(VENV)/bin/python -m tools.studies

# On two idle cores, a quarter of an hour.
faults: build $(VENV)/.extra-dev  ## killed runs and files of others, and whether a run ends with the same bytes
	$(VENV)/bin/python -m tools.faults.kills --json benchmarks/results/faults.json
	$(VENV)/bin/python -m tools.faults.swaps --json benchmarks/results/swaps.json

clean:
	rm -rf build $(VENV)
