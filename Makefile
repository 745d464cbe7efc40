# Each target is a line that you could type. `make lab` and `make test` are all that a learner needs.

PYTHON ?= python3
# The versions that the course was tested with; `make install PINS=` takes the newest instead.
PINS = -c constraints.txt
# Shorter measurements in notebooks; `make test SMALL=` runs them in full, as learners do.
SMALL = --small
# The tests of `make test`; `make test LANE=` runs all tests in one go.
LANE = -m "not rest and not sampled"
PIP = .venv/bin/python -m pip

.PHONY: lab update test test-rest quick base install notebooks prose scripts site report doctor \
	lint exercise mutate pins clean

lab: base                # JupyterLab at the start notebook; ARGS="--ip 0.0.0.0" passes options on
	.venv/bin/python -m course lab $(ARGS)

update: base             # the newest version; your answers and notes stay
	.venv/bin/python -m course update $(ARGS)
	$(MAKE) base

test: install            # checks this machine and the course; ARGS="labs" runs all tests in labs
	@.venv/bin/python -m course doctor --short || true
	.venv/bin/python -m pytest --nbval $(SMALL) $(or $(ARGS),$(LANE))

test-rest: install       # all that `make test` leaves out
	.venv/bin/python -m pytest --nbval $(SMALL) -m "rest or sampled" $(ARGS)

quick: lint              # for the edit loop: style, built files, and the fast tests of `make test`
	.venv/bin/python -m course build --check
	.venv/bin/python -m pytest tests -m "not slow and not rest and not sampled" $(ARGS)

# `notebooks`, `prose` and `scripts` replace files; your changes in labs/ are kept in labs/src/kept.
notebooks: install       # labs/, solutions/ and images/ from the lessons; ARGS="02_all_reduce" builds one
	.venv/bin/python -m course build $(ARGS)

exercise: install        # the skeleton of a new exercise, or a new lab: NAME=my_barrier LAB=00_start_here
	.venv/bin/python tests/tools/new_exercise.py "$(NAME)" "$(LAB)"

mutate: install          # mutated solutions that a check accepts: NAME=my_barrier takes minutes, all take hours
	PYTHONPATH=tests .venv/bin/python tests/tools/mutate_solutions.py build/mutants $(NAME) $(ARGS)

prose: base              # the same after a change to prose only: seconds, runs nothing
	.venv/bin/python -m course build --prose $(ARGS)

scripts: base            # only the scripts that the notebooks write
	.venv/bin/python -m course build --scripts $(ARGS)

site: base               # the course as web pages in build/site; needs npm, which brings Python for browsers
	$(PIP) install -q $(PINS) -e ".[site]"
	.venv/bin/python -m course site $(ARGS)

report: base             # tries every part of the course here, GPUs above all, and writes one file; ARGS="--only links"
	.venv/bin/python -m course report $(ARGS)

doctor: base             # what this box has, and whether the labs run on it
	.venv/bin/python -m course doctor $(ARGS)

lint: install
	.venv/bin/ruff check . && .venv/bin/ruff format --check .
	.venv/bin/pyrefly check
	.venv/bin/python tests/tools/lint_lessons.py

clean:                   # deletes what make has made and the logs of runs, never what you or your scripts saved
	rm -rf .venv .pytest_cache .ruff_cache build *.egg-info labs/course-runs solutions/course-runs

pins: install            # constraints.txt with the newest versions; edit the line of torch yourself
	$(PYTHON) -m venv --clear build/pins
	build/pins/bin/python -m pip install "$$(grep ^torch== constraints.txt)" -e ".[dev,site,teach]"
	grep "^#" constraints.txt > build/constraints.txt
	build/pins/bin/python -m pip freeze --exclude-editable | sed "s/+cpu$$//" >> build/constraints.txt
	mv build/constraints.txt constraints.txt

# Rebuild a .venv whose Python does not run here, such as the host's in a container.
ifneq ($(shell test -x .venv/bin/python && .venv/bin/python -c 'print("runs")' 2>&1),runs)
.PHONY: .venv/base
CLEAR = --clear
endif

base: .venv/base         # what a learner needs

install: .venv/installed # what a learner and the tests need

.venv/base: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("This Python is too old: name one of 3.11 or later, as in  make lab PYTHON=python3.12")'
	$(PYTHON) -m venv $(CLEAR) .venv
	$(PIP) install $(PINS) -e .
	touch .venv/base

.venv/installed: .venv/base
	$(PIP) install $(PINS) -e ".[dev]"
	touch .venv/installed
