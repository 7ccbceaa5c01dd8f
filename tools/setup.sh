#!/bin/sh
# Makes .venv with everything Warploom needs, and the system libraries that Qt needs. Does nothing when all is there.
#
#   tools/setup.sh        what is needed to run
#   tools/setup.sh dev    that, and what is needed to test
set -eu
cd "$(dirname "$0")/.."
venv=.venv
kind=${1:-run}

say() { printf 'setup: %s\n' "$*" >&2; }

# Libraries of the system. Debian's names; other systems get told what is missing.
libraries="libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1 fontconfig"
# The X11 platform plugin needs these on top, when there is a display.
libraries="$libraries libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 libxkbcommon-x11-0"

install_packages() {
    if ! command -v apt-get >/dev/null 2>&1; then
        say "please install what these Debian packages hold: $*"
        return 1
    fi
    if [ "$(id -u)" != 0 ]; then
        say "please type: sudo apt-get install -y $*"
        return 1
    fi
    say "installing $*"
    log=$(mktemp)
    # A package list that is out of date may still do, so only the installation's failure counts.
    apt-get update -qq >"$log" 2>&1 || true
    if ! DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >>"$log" 2>&1; then
        cat "$log" >&2
        say "apt-get could not install $*"
        return 1
    fi
    rm -f "$log"
}

missing=""
if command -v dpkg-query >/dev/null 2>&1; then
    for package in $libraries; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
fi
if ! { command -v fc-list >/dev/null 2>&1 && fc-list 2>/dev/null | grep -q .; }; then
    missing="$missing fonts-dejavu-core"
fi
if [ -n "$missing" ]; then
    # Headless runs and most tests work without them, so a user who may not install goes on.
    # shellcheck disable=SC2086 # a list of words
    install_packages $missing || say "without them the editor cannot open a window; running headless works"
fi

python=${PYTHON:-}
if [ -z "$python" ]; then
    for candidate in python3.11 python3.12 python3.13 python3; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            python=$candidate
            break
        fi
    done
fi
[ -n "$python" ] || { say "Python 3.11, 3.12 or 3.13 must be installed (apt-get install python3)"; exit 1; }

if [ ! -x $venv/bin/python ] || ! $venv/bin/python -m pip --version >/dev/null 2>&1; then
    say "making $venv with $($python --version)"
    if ! $python -c 'import ensurepip' 2>/dev/null; then
        install_packages python3-venv || exit 1
    fi
    rm -rf $venv
    $python -m venv $venv
fi

lock=requirements.lock
[ "$kind" = dev ] && lock=requirements-dev.lock
stamp=$venv/.installed-$kind
want=$(cat $lock pyproject.toml | cksum)
if [ "$(cat $stamp 2>/dev/null || true)" != "$want" ]; then
    say "installing Python packages ($lock); this takes a minute or two the first time"
    PIP_DISABLE_PIP_VERSION_CHECK=1 $venv/bin/python -m pip install -qq -r $lock
    PIP_DISABLE_PIP_VERSION_CHECK=1 $venv/bin/python -m pip install -qq --no-deps -e .
    printf '%s' "$want" >$stamp
fi
