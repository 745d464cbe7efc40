# Each target is a line that you could type. `make lab` and `make test` are all that a learner needs.

PYTHON ?= python3
# The release of torch that the course was tested with; environment.yml names it too.
TORCH = torch==2.13.0

.PHONY: lab update test test-rest quick install notebooks scripts site report doctor lint clean

lab: install             # JupyterLab at the start notebook; ARGS="--ip 0.0.0.0" passes options on
	.venv/bin/python -m course lab $(ARGS)

update: install          # the newest version; your answers and notes stay
	.venv/bin/python -m course update $(ARGS)
	$(MAKE) install

test: install            # this machine and the product, in ten minutes; ARGS="labs" runs some tests, all of them
	.venv/bin/python -m pytest --nbval $(or $(ARGS),-m "not rest")

test-rest: install       # all that `make test` leaves out
	.venv/bin/python -m pytest --nbval -m rest $(ARGS)

quick: lint              # for the edit loop: style, built files, every test that takes no minutes
	.venv/bin/python -m course build --check
	.venv/bin/python -m pytest tests -m "not slow" $(ARGS)

notebooks: install       # labs/, solutions/ and images/ from the lessons; ARGS="02_all_reduce" builds one
	.venv/bin/python -m course build $(ARGS)

scripts: install         # only the scripts that the notebooks write
	.venv/bin/python -m course build --scripts $(ARGS)

site: install            # the course as web pages in build/site; needs npm, which brings Python for browsers
	.venv/bin/python -m pip install -q -e ".[site]"
	.venv/bin/python -m course site $(ARGS)

report: install          # tries all of the course here, GPUs above all, into one file; ARGS="--only links"
	.venv/bin/python -m course report $(ARGS)

doctor: install          # what this box has, and whether the labs run on it
	.venv/bin/python -m course doctor $(ARGS)

lint: install
	.venv/bin/ruff check . && .venv/bin/ruff format --check .
	.venv/bin/python tests/tools/lint_lessons.py

clean:                   # what make and the labs can make again; never the scripts in labs/src
	rm -rf .venv .pytest_cache .ruff_cache build *.egg-info */runs */traces

install: .venv/installed

.venv/installed: pyproject.toml Makefile
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("This Python is too old: name one of 3.11 or later, as in  make lab PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install "$(TORCH)" -e ".[dev]"
	touch .venv/installed
