#!/bin/sh
# The GPU tests and benchmarks in one go, for a machine with a CUDA device: tools/gpu_check.sh [PYTHON]
# Needs nothing installed by this script; the short table comes last.
set -u
cd "$(dirname "$0")/.."
python=${1:-python3}
export PYTHONPATH=".:${PYTHONPATH:-}" PYTHONUNBUFFERED=1
$python -m warploom.cli devices 2>/dev/null || $python -m warploom devices
$python -m pytest -q -p no:cacheprovider -m gpu -rs tests/gpu tests/device --durations=5
tests=$?
$python -m warploom run resources/examples/particles.loom --device cuda:0 --frames 240 --out "${OUT:-out}/particles"
$python -m warploom run resources/examples/photo.loom --device cuda:0 --frames 60 --out "${OUT:-out}/photo"
echo "--- benchmarks"
$python tests/benchmarks/bench_frame.py --device cuda:0
exit $tests
