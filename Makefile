PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help install replay test lint benchmark evidence clean

help:
	@echo "make replay     install, then replay the shipped log; the report lands in runs/hazard/report.html"
	@echo "make test       install, then everything that CI runs"
	@echo "make install    only prepare the virtual environment"
	@echo "make lint       format, types and layers only"
	@echo "make benchmark  replay cost against the bare stage computations, kernel speed, loading of large files"
	@echo "make evidence   100 000 random systems against oracle and bounds, every mutated rule, every single fault (hours; benchmarks/README.md)"
	@echo "make clean      remove the virtual environment and all runs"

install: $(VENV)/.installed

$(VENV)/.installed: $(VENV)/.packages
	$(BIN)/rt-sched compile
	@touch $@

$(VENV)/.packages: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rt-sched needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

replay: install
	$(BIN)/rt-sched replay replay_data/hazard.mcap --system examples/quad_orin.yaml -o runs/hazard

lint: $(VENV)/.packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Types are checked on one core only, and most kernels compiled on another.
test: $(VENV)/.packages
	@$(MAKE) --no-print-directory -j2 install lint
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

benchmark: install
	$(BIN)/python benchmarks/replay_overhead.py
	$(BIN)/python benchmarks/kernel_speed.py
	$(BIN)/python benchmarks/config_loading.py

RESULTS = benchmarks/results
ALL_CAMERAS = runs/evidence/hazard_eight_cameras.mcap
PLANNED = runs/evidence/quad_orin_plan.yaml

# benchmarks/README.md tells what each shows, and how long it takes.
evidence: install
	$(BIN)/python benchmarks/evidence/random_systems.py
	$(BIN)/python benchmarks/evidence/random_analysis.py
	$(BIN)/python benchmarks/evidence/random_distributed.py
	$(BIN)/python benchmarks/evidence/random_transitions.py
	$(BIN)/python benchmarks/evidence/mutations.py
	$(BIN)/python benchmarks/evidence/safety_exploration.py
	$(BIN)/python benchmarks/evidence/false_trips.py
	mkdir -p runs/evidence
	$(BIN)/python benchmarks/evidence/single_faults.py quad_orin --json $(RESULTS)/single_faults.json
	$(BIN)/rt-sched scene hazard --duration 0.8s --force -o $(ALL_CAMERAS)
	$(BIN)/python benchmarks/evidence/single_faults.py quad_orin --log $(ALL_CAMERAS) \
		--rest-of $(RESULTS)/single_faults.json --json $(RESULTS)/single_faults_other_cameras.json
	$(BIN)/rt-sched plan quad_orin -o $(PLANNED)
	$(BIN)/python benchmarks/failover.py examples/quad_orin.yaml $(PLANNED) --json $(RESULTS)/failover.json
	$(BIN)/python benchmarks/evidence/paced_kills.py --inside -o $(RESULTS)/paced_kills.json
	$(BIN)/python benchmarks/evidence/paced_faults.py -o $(RESULTS)/paced_faults.json
	$(BIN)/python benchmarks/evidence/paced_failover.py -o $(RESULTS)/paced_failover.json
	$(BIN)/python benchmarks/evidence/paced_hog.py -o $(RESULTS)/paced_hog.json
	$(BIN)/python benchmarks/replay_overhead.py --json > $(RESULTS)/replay_overhead.json

clean:
	rm -rf $(VENV) runs build dist
