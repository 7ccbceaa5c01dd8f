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

# Libraries that Qt loads, with Debian's packages; other systems get told what is missing.
libraries="
    libEGL.so.1:libegl1 libGL.so.1:libgl1 libglib-2.0.so.0:libglib2.0-0 libdbus-1.so.3:libdbus-1-3
    libfontconfig.so.1:libfontconfig1 libxkbcommon.so.0:libxkbcommon0 libxkbcommon-x11.so.0:libxkbcommon-x11-0
    libX11-xcb.so.1:libx11-xcb1 libxcb-cursor.so.0:libxcb-cursor0 libxcb-icccm.so.4:libxcb-icccm4
    libxcb-keysyms.so.1:libxcb-keysyms1 libxcb-randr.so.0:libxcb-randr0 libxcb-shape.so.0:libxcb-shape0
    libxcb-sync.so.1:libxcb-sync1 libxcb-xfixes.so.0:libxcb-xfixes0 libxcb-xkb.so.1:libxcb-xkb1
"

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
installed=$(PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null || true)
if [ -n "$installed" ]; then
    for library in $libraries; do
        case $installed in
            *"${library%%:*} "*) ;;
            *) missing="$missing ${library##*:}" ;;
        esac
    done
fi
if ! { command -v fc-list >/dev/null 2>&1 && fc-list 2>/dev/null | grep -q .; }; then
    missing="$missing fontconfig fonts-dejavu-core"
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
