# make run    set everything up and open the particle patch (or run it headless where there is no display)
# make test   set everything up and run lint, types, import contracts and tests
# make coverage    the tests with the lines that they reach: a table at the end, and every line in htmlcov/index.html
# make book   the book as HTML, in build/book; warnings are errors
# make fuzz   the random tests with new seeds and FUZZ (10) or more times the examples; a failing example is kept in .hypothesis/
# make tasks    six tasks from an empty canvas, by the mouse and keys of a virtual X display; needs Xvfb, xdotool, openbox
# make test-ssh    an engine on another machine: sshd between two network namespaces; needs root and sshd
# make test-gpu, bench-gpu, sanitize-gpu    what needs a CUDA device, with no Qt; PYTHON=... uses that Python as it is

VENV := .venv/bin
EXAMPLE := resources/examples/particles.loom

.PHONY: run test tests tasks test-ssh coverage book fuzz lint test-gpu bench bench-gpu sanitize-gpu lock setup setup-dev host-runtime

run: setup
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ]; then \
		$(VENV)/warploom edit $(EXAMPLE); \
	else \
		echo "no display: running $(EXAMPLE) headless for 240 frames"; \
		$(VENV)/warploom run $(EXAMPLE) --frames 240 --out out; \
	fi

# The tests start many processes, so compiled modules are kept.
TESTS := PYTHONDONTWRITEBYTECODE= QT_QPA_PLATFORM=offscreen $(VENV)/python -m pytest \
	-n auto --dist loadfile --no-loadscope-reorder --hypothesis-seed=0 -m "not gpu"
# Lint and types use the time in which a test waits.
test: setup-dev
	@$(MAKE) --no-print-directory -j2 lint tests

tests: setup-dev
	$(TESTS) $(PYTEST)

# A target of its own, since counting lines makes the tests slower.
coverage: setup-dev
	$(TESTS) --cov --cov-report=term:skip-covered --cov-report=html $(PYTEST)

book: setup-dev
	$(VENV)/python -m sphinx -W --keep-going -q -j auto book build/book

FUZZ := 10
fuzz: setup-dev
	QT_QPA_PLATFORM=offscreen WARPLOOM_FUZZ=$(FUZZ) WARPLOOM_SEED=$${WARPLOOM_SEED:-$$(date +%s)} $(VENV)/python -m pytest \
		-n auto --dist loadfile -o timeout=3600 -m "not gpu" $(PYTEST) $$(grep -rlE 'many\(|seeds\(|FACTOR|dialect' tests --include='test_*.py')

# A window manager gives windows the keyboard. The tasks print their numbers of gestures and times.
TASK_PROGRAMS := xvfb-run xdotool openbox
tasks: setup-dev
	@for program in $(TASK_PROGRAMS); do \
		command -v $$program > /dev/null || { echo "skipped: the tasks need $$program"; exit 0; }; \
	done; \
	QT_QPA_PLATFORM=xcb xvfb-run -a -s "-screen 0 1440x900x24" sh -c \
		'openbox & $(VENV)/python -m pytest -q -s tests/tasks $(PYTEST); result=$$?; kill $$!; exit $$result'

# An engine behind a real sshd between two network namespaces; as root, and WARPLOOM_SSHD may name another sshd.
test-ssh: setup-dev
	WARPLOOM_SSHD=$${WARPLOOM_SSHD:-/usr/sbin/sshd} QT_QPA_PLATFORM=offscreen $(VENV)/python -m pytest -s \
		tests/protocol/elsewhere/test_over_ssh.py

lint: setup-dev
	$(VENV)/ruff check .
	$(VENV)/ruff check --preview --select PLW1514 app blocks engine warploom
	$(VENV)/ruff format --check .
	$(VENV)/mypy
	$(VENV)/python tools/check_systems.py
	$(VENV)/lint-imports --no-cache

setup:
	@tools/setup.sh run

setup-dev:
	@tools/setup.sh dev

ifdef PYTHON
GPU_PYTHON := $(PYTHON)
test-gpu bench-gpu sanitize-gpu:
else
GPU_PYTHON := $(VENV)/python
test-gpu bench-gpu sanitize-gpu: setup-dev
endif

test-gpu:
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m pytest -m gpu -rs $(PYTEST) tests/gpu tests/device tests/compiler tests/ops tests/libraries tests/runtime tests/kernel_sources tests/kernel_blocks tests/blocks tests/tensor_runtime tests/tensor_ir tests/random_patches

bench-gpu:
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.side_by_side --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) tests/benchmarks/bench_frame.py --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_profiling --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_edges --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_graph --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_compile --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_delay --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_in_flight --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_updates --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_snapshot --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_fusion --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_blocks --device cuda:0 --all
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_particles --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_launches --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_libraries --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_lazy --device cuda:0
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.benchmarks.bench_tensor --device cuda:0

# memcheck, racecheck and initcheck of compute-sanitizer over all examples
sanitize-gpu:
	PYTHONPATH=".:$$PYTHONPATH" $(GPU_PYTHON) -m tests.gpu.sanitize

bench: setup-dev
	PYTHONPATH=. $(VENV)/python -m tests.benchmarks.side_by_side --device host
	PYTHONPATH=. $(VENV)/python tests/benchmarks/bench_frame.py --device host

# The C part of the host device's runtime; needs clang 22.
host-runtime:
	$(VENV)/python tools/make_host_runtime.py

# The locks name versions, never an address.
lock:
	$(VENV)/python -m pip install -q uv
	$(VENV)/uv pip compile -q --no-emit-index-url --no-header pyproject.toml --extra editor --python-version 3.11 \
		-o requirements.lock
	$(VENV)/uv pip compile -q --no-emit-index-url --no-header pyproject.toml --extra dev --python-version 3.11 \
		-c requirements.lock -o requirements-dev.lock
