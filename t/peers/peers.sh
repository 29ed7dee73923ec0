# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced after lib.sh by the tests that compare with other people's programs.
#
#   need_python MODULE...    the whole file is skipped where one is not installed. One that is
#                            installed and cannot be imported is a failure of the test, not a skip.
#   mend_torch               makes mended/, for PYTHONPATH: what Debian 12's PyTorch 1.13 lacks for
#                            Python 3.11. A class of torch.distributed.fsdp, which Lightning imports,
#                            needs a hash, and torchrun expects all members when it iterates over a
#                            flag.
#   has NAME                 whether there is such a module of Python, with mended/, or a program

need_python() {
    local module
    command -v python3 >/dev/null || skip_all 'python3 is not installed'
    for module in "$@"; do
        python3 -c 'import importlib.util, sys
sys.exit(importlib.util.find_spec(sys.argv[1]) is None)' "$module" ||
            skip_all "Python's $module is not installed (t/peers/requirements.txt; run by make check-peers)"
    done
}
mend_torch() {
    mkdir mended
    case $(python3 -c 'import importlib.metadata as m; print(m.version("torch"))') in
    1.13*) ;;
    *) return ;;
    esac
    cat >mended/sitecustomize.py <<'END'
import dataclasses, enum
made, members = dataclasses.dataclass, enum.EnumType.__iter__
def dataclass(cls=None, /, **words):
    if cls is None:
        return lambda c: dataclass(c, **words)
    return made(cls, **{"unsafe_hash": cls.__name__ == "TensorProperties", **words})
dataclasses.dataclass = dataclass
enum.EnumType.__iter__ = lambda c: iter(c.__members__.values()) if c.__name__ == "Std" else members(c)
END
}
has() {
    command -v "$1" >/dev/null || PYTHONPATH=$TMP/mended python3 -c "import $1" 2>"$ERR"
}
export TF_CPP_MIN_LOG_LEVEL=3 TF_ENABLE_ONEDNN_OPTS=0
