# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced after lib.sh by the tests that compare with other people's programs.
#
#   need_python MODULE...    the whole file is skipped where one is not installed. One that is
#                            installed and cannot be imported is a failure of the test, not a skip.

need_python() {
    local module
    command -v python3 >/dev/null || skip_all 'python3 is not installed'
    for module in "$@"; do
        python3 -c 'import importlib.util, sys
sys.exit(importlib.util.find_spec(sys.argv[1]) is None)' "$module" ||
            skip_all "Python's $module is not installed (t/peers/requirements.txt; run by make check-peers)"
    done
}
export TF_CPP_MIN_LOG_LEVEL=3 TF_ENABLE_ONEDNN_OPTS=0
