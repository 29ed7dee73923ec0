#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What make check-python runs in the environment that t/peers/run makes. TESTS chooses: pytest -k.
set -eu
: "${srcdir:?}" "${builddir:?}"
if ! python3 -c 'import pytest, pandas, matplotlib' 2>/dev/null; then
    echo "check-python: skipped: what t/peers/python.txt names is not installed, and could not be"
    exit 0
fi
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$srcdir/python
exec python3 -m pytest -p no:cacheprovider -rs -k "${TESTS:-}" "$srcdir/python/test"
