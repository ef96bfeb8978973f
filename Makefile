# Everything a newcomer needs: `make run` and `make test`. Both set up a virtual environment on first use.
VENV := .venv
PYTHON ?= python3
RUN ?= default
FAMILY ?= alignments
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
# Where jobs run: a folder of workflow/profiles. A cluster's scheduler counts cores itself, and CORES are those of this
# machine for what is too small to submit.
PROFILE ?= local
CORES_OPTION = $(if $(EXECUTOR),--local-cores,--cores)
EXECUTOR = $(shell sed -n 's/^executor: *//p' $(call quoted,workflow/profiles/$(PROFILE)/profile.yaml))
# A folder that each machine has of its own, SCRATCH=/scratch/me: jobs copy what they read there, and what they write back.
COPIES = $(if $(SCRATCH),--default-storage-provider fs --local-storage-prefix $(call quoted,$(SCRATCH)) \
	--shared-fs-usage persistence sources source-cache software-deployment)
# Snakemake's executor for a cluster, which the profile names, and its copying are packages of their own.
EXTRAS = $(patsubst %,$(VENV)/.extra-%,$(EXECUTOR) $(if $(SCRATCH),scratch))
# What is given on the command line is one word to the shell, whatever is in it.
quoted = '$(subst ','\'',$(1))'
CONFIG = $(call quoted,workflow/config/$(RUN).yaml)
FAMILY_CONFIG = $(call quoted,workflow/config/families/$(FAMILY).yaml)
# Targets follow a --, or they are taken for more configuration files.
SNAKEMAKE = $(VENV)/bin/snakemake --nolock --rerun-incomplete --workflow-profile $(call quoted,workflow/profiles/$(PROFILE)) $(CORES_OPTION) $(CORES) $(COPIES)
# One run at a time in a folder, which goes on where a killed one was.
LED = $(VENV)/bin/parkf supervise $(call quoted,results/$(1)) --
ONE_RUN = $(SNAKEMAKE) --configfile $(CONFIG)

# The editable build is unisolated so that a changed formula recompiles in seconds; setuptools is for what snakemake
# needs and publishes as source alone.
$(VENV)/.installed: pyproject.toml CMakeLists.txt $(wildcard src/kernel/*/* src/parkf/steps/*.py src/parkf/codegen/*.py) \
		$(wildcard params/*/*.json)
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -c 'import sys; assert sys.version_info >= (3, 11), "parkf needs Python 3.11 or newer"'
	$(VENV)/bin/python -m pip install -q scikit-build-core nanobind sympy ninja 'cmake>=3.25' 'setuptools>=70.1'
	@PYTHONPATH=src $(VENV)/bin/python -m parkf.codegen params/layouts >/dev/null
	$(VENV)/bin/python -m pip install -q --no-build-isolation -e '.[dev]'
	touch $@

# Their versions are extras of this package, which is installed by now.
$(VENV)/.extra-%: $(VENV)/.installed
	$(VENV)/bin/python -m pip install -q 'parkf[$*]'
	touch $@

.PHONY: run checked family dry-run why validate verify publish test lint docs build smoke paper mutants faults clean

build: $(VENV)/.installed $(EXTRAS)

# In one line what is wrong with a configuration, before Snakemake reads it.
checked: build
	@$(VENV)/bin/parkf check $(CONFIG)

run: checked  ## train, validate and report with workflow/config/$(RUN).yaml
	$(call LED,$(RUN)) $(ONE_RUN)
	@$(VENV)/bin/parkf where $(call quoted,results/$(RUN))

family: build  ## several sets in one go: workflow/config/families/$(FAMILY).yaml
	@$(VENV)/bin/parkf check --family $(FAMILY_CONFIG)
	$(call LED,$(FAMILY)) $(SNAKEMAKE) --snakefile workflow/family.smk --configfile $(FAMILY_CONFIG)

dry-run: checked  ## what a run would do now
	$(ONE_RUN) --dry-run

why: checked  ## in words what changed since results/$(RUN) was made, what runs again, and for how long
	@$(VENV)/bin/parkf why $(CONFIG) --cores $(CORES)

validate: checked  ## train what is missing, and measure: validation.json alone
	$(call LED,$(RUN)) $(ONE_RUN) -- validate

verify: build  ## hold every file of results/$(RUN), and the published sets, against their checksums
	$(VENV)/bin/parkf verify $(call quoted,results/$(RUN)) params

publish: checked  ## publish the set of results/$(RUN) to params/, if it meets its gates
	$(call LED,$(RUN)) $(ONE_RUN) -- publish
	@cat $(call quoted,results/$(RUN)/published.json)

smoke paper: build  ## the run for tests; 10,000 events a polarity
	$(MAKE) run RUN=$@

lint: build
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

docs: build  ## the pages that the code writes, and the site in build/site
	$(VENV)/bin/python docs/generate.py
	$(VENV)/bin/python -m mkdocs build --strict --quiet --site-dir build/site

test: lint  ## style, types and every test
	$(VENV)/bin/python -m pytest -n $(CORES) --ignore tests/workflow --ignore tests/cluster
	$(VENV)/bin/python -m pytest tests/workflow tests/cluster  # their runs take all cores themselves

# Both go on where they were stopped; on two cores the first takes hours, the second half an hour.
mutants: build  ## deliberate mistakes in the code, and whether tests notice
	$(VENV)/bin/python -m benchmarks.mutants --json benchmarks/results/mutants.json

faults: build  ## kills, damaged files and full disks, and whether a run ends with the same bytes
	$(VENV)/bin/python -m benchmarks.faults --json benchmarks/results/faults.json

clean:
	rm -rf build $(VENV)
