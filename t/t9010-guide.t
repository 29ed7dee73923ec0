#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs every command of doc/GUIDE.md in order on a real private Slurm and compares the output with
# the guide's: "..." matches anything; times, job ids and, except for doc/published, numbers with a
# point may differ.
# shellcheck source=t/lib.sh
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"

for program in slurmctld slurmd munged srun python3; do
    PATH=$PATH:/usr/sbin command -v $program >/dev/null || skip_all "$program is not installed"
done
unet-train devices --json | grep -q '"mpi"\]' || skip_all "built without MPI: 3 GPUs need two nodes"
unset UNET_GPUS # the sandbox's jobs have it by themselves
export OMP_WAIT_POLICY=passive
cleanup_hooks+=(sandbox_down)
sandbox_down() { unetctl sandbox down >/dev/null 2>&1; }

# Writes command-K, want-K and line-K for each command of the guide.
cat >split.py <<'END'
import re, sys
lines = open(sys.argv[1]).read().split("\n")
inside, blocks, n = None, 0, 0
for number, line in enumerate(lines, 1):
    if line.startswith("```"):
        if inside is None and line != "```console":
            sys.exit("GUIDE.md:%d: not a console block" % number)
        inside = None if inside is not None else []
        continue
    if inside is None:
        continue
    if line.startswith("$ "):
        n += 1
        inside.append(n)
        command, want = open("command-%03d" % n, "w"), open("want-%03d" % n, "w")
        open("line-%03d" % n, "w").write("%d" % number)
        print(line[2:], file=command, flush=True)
    elif line.startswith("> ") or line == ">":
        print(line[2:], file=command, flush=True)
    else:
        print(line, file=want, flush=True)
END
cat >compare.py <<'END'
import re, sys
want, got, exact = open(sys.argv[1]).read(), open(sys.argv[2]).read(), sys.argv[3] == "exact"
varies = r"job \d+|\d+ s\b|\d+:\d\d:\d\d" + ("" if exact else r"|\d+\.\d+")
def pattern(line):
    out = ""
    for part in re.split(r"(\.\.\.| +|%s)" % varies, line):
        if part == "...":
            out += ".*"
        elif re.fullmatch(" +", part):
            out += " *"
        else:
            same = not re.fullmatch(varies, part)
            out += re.escape(part) if same else re.sub(r"[\d.]+", "[0-9.]+", part)
    return " *" + out + " *\n"
expression = "".join(r"(?:.*\n)*?" if line.strip() == "..." else pattern(line)
                     for line in want.splitlines())
sys.exit(0 if re.fullmatch(expression, got) else 1)
END
ok "the guide has commands" python3 split.py "$srcdir/doc/GUIDE.md"

begun=$SECONDS
for command in command-*; do
    k=${command#command-}
    text="GUIDE.md:$(cat "$TMP/line-$k"): $(head -n 1 "$TMP/$command")"
    mode=about
    if grep -qE 'published|\<first\>' "$TMP/$command"; then
        mode=exact
        [ -e published ] || ln -s "$srcdir/doc/published" published
    fi
    if grep -q gromacs "$TMP/$command"; then
        if ! command -v gmx_mpi >/dev/null; then
            skip "GROMACS is not installed" "$text"
            continue
        fi
        [ -e gromacs ] || cp -r "$srcdir/examples/gromacs" .
    fi
    # shellcheck source=/dev/null
    . "$TMP/$command" >"$TMP/got-$k" 2>&1 </dev/null
    code=$?
    if [ $code = 0 ] && python3 "$TMP/compare.py" "$TMP/want-$k" "$TMP/got-$k" $mode; then
        report 0 "$text"
    else
        report 1 "$text"
        {
            echo "exit code $code; the guide shows:"
            cat "$TMP/want-$k"
            echo "got:"
            cat "$TMP/got-$k"
        } | diag
    fi
done
echo "# $((SECONDS - begun)) s"
done_testing
