#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Files that others have put in the place of those of a study, a report or a run: a link to a file
# or folder elsewhere, a FIFO, a link to a device, a file of a terabyte. What verbs and the trainer
# open, make, move and remove is found by tracing them, so a new path is tried by itself. Nothing
# elsewhere may change, nothing of it be printed or copied, no command may wait or end by a signal.
# Without EXHAUSTIVE, a sample of the pairs of paths and kinds is tried.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
without_pictures
broken '*'

# ---- single cases
mkdir -p canary/figures away
canary=$TMP/canary word=c4narY
for file in canary/file canary/log.csv canary/figures/a.svg; do echo "$word,$word" >$file; done
fingerprint() { (cd "$canary" && find . -printf '%p %m %s %T@\n' -exec cat {} + 2>/dev/null) | cksum; }
intact=$(fingerprint)
cp -a canary kept

mkdir s
cat >s/sim <<'END'
#!/bin/sh
echo "epoch,time,loss" >"$UNETCTL_ATTEMPT_DIR/metrics.csv"
for epoch in 0 1 2; do
    echo "$epoch,$((60 / $1)).$epoch,0.$((9 - epoch))" >>"$UNETCTL_ATTEMPT_DIR/metrics.csv"
done
END
chmod +x s/sim
exits 0 "a study of a script" unetctl init s --site local --name demo \
    --set log.time=time:each -- s/sim '{{gpus}}'
exits 0 "two runs succeed" unetctl submit -C s --gpus 1,2 --wait --timeout 120
exits 0 "a report is written" unetctl report -C s
cp -a s saved

ln -s "$canary" s/report/.new-1
exits 0 "a link as the leftover of a killed report" unetctl report -C s
is "$(fingerprint)" "$intact" "nothing in its folder is removed"
rm s/report/.new-1
ln -sf "$canary/file" s/.unetctl/lock
exits 3 "a link as the ledger's lock" unetctl submit -C s --gpus 3
like "$ERR" '^unetctl: error: cannot lock .*/lock: it is a symbolic link, .*; remove it$' \
    "one line says what to do"
is "$(fingerprint)" "$intact" "its file is not emptied"
rm s/.unetctl/lock

mv s/runs away/runs && ln -s ../away/runs s/runs
exits 0 "runs/ may be a link to another file system" unetctl submit -C s --gpus 3 --wait --timeout 120
ok "the run is there" test -s away/runs/command-g03-s1/attempt-1/DONE
exits 0 "and is collected" unetctl collect -C s
ln -s ../s/study.yaml away/study.yaml && rm s/runs && mv away/runs s/runs
cp s/study.yaml away/real.yaml && ln -sf ../away/real.yaml s/study.yaml
exits 0 "study.yaml may be a link" unetctl status -C s

mv s/runs/command-g01-s1/attempt-1 away/attempt-1
ln -s "$TMP/away/attempt-1" s/runs/command-g01-s1/attempt-1
exits 1 "a link as an attempt has no results" unetctl collect -C s
unlike "$OUT" '^command-g01-s1.*done' "the run is not done"
rm -r s && cp -a saved s

mkdir foreign
for file in log_5 results; do
    ln -s "$canary/file" foreign/$file.csv
    exits 7 "logs of another program: a link as $file.csv" unetctl report --logs foreign -o none
    cat "$OUT" "$ERR" >all
    like all "$file.csv: it is a symbolic link to a file that cannot be read" "is said to be one"
    unlike all "$word" "and nothing of its file is printed"
done

# ---- paths that the commands use
verbs=(
    "plan -C s --gpus 1,2,4"
    "submit -C s --gpus 4 --wait --timeout 5"
    "status -C s"
    "watch -C s --timeout 5"
    "collect -C s"
    "report -C s"
    "report -C s -o s/other"
    "resume -C s command-g01-s1"
    "logs -C s command-g01-s1 command-g02-s1"
    "cancel -C s --yes"
    "doctor -C s"
    "config -C s"
)
# Prints the paths below s of a command, except those with a PID or date in their names.
trace() { # COMMAND...
    "$builddir/t/killat" -f paths 0 "$@" >"$OUT" 2>"$ERR"
    sed -n "s,/\./,/,g; s,//*,/,g; s,^$TMP/s/,,p" paths | sed 's,/\.*$,,' |
        grep -vE '\.(tmp|new)-|/running-|\.doctor|/doctor/|/\.\.(/|$)|\.sha256\.|^\.*$' | sort -u
}
trace unetctl status -C s >found
if [ ! -s found ] && grep -q 'killat: ' "$ERR"; then
    skip "programs cannot be traced here" "every path of every verb"
    done_testing
fi

kinds=(link fifo zero huge)
hostile() { # PATH KIND
    local path=$1 to=$canary/file
    if [ -d "$path" ] && [ ! -L "$path" ]; then to=$canary; fi
    rm -rf "$path"
    mkdir -p "${path%/*}" 2>/dev/null
    case $2 in
    link) ln -s "$to" "$path" ;;
    fifo) mkfifo "$path" ;;
    zero) ln -s /dev/zero "$path" ;;
    huge) truncate -s 1T "$path" ;;
    esac
}
# Returns whether the path is the user's own: it may be a link, and is read through it. So may runs,
# which is written through it.
is_of_user() { case $1 in .unetctl* | logs* | report* | runs/* | out/*) false ;; *) true ;; esac; }
# Runs a command with PATH in s replaced, and prints what is wrong.
attack() { # PATH KIND COMMAND...
    local path=$1 kind=$2 rc seen
    shift 2
    rm -rf s && cp -a saved s
    hostile "s/$path" "$kind" || return
    timeout -k 1 25 "$@" >"$OUT" 2>"$ERR" </dev/null
    rc=$?
    case $rc in
    [0-9] | 75) ;;
    *) echo "$path as $kind: $*: exit code $rc: $(tail -n 1 "$ERR")" ;;
    esac
    if [ "$(fingerprint)" != "$intact" ]; then
        echo "$path as $kind: $*: changed a file elsewhere"
        rm -rf canary && cp -a kept canary
    fi
    if ! is_of_user "$path"; then
        seen=$(grep -ls "$word" "$OUT" "$ERR"; grep -rIls --exclude-dir=.git -D skip "$word" s)
        if [ -n "$seen" ]; then echo "$path as $kind: $*: $word is in ${seen//$'\n'/ }"; fi
    fi
}

# Attacks every path in turn with each kind, or each k-th pair so that about `most` are tried.
npairs=0 bad=''
try_all() { # MOST FILE COMMAND...
    local most=$1 file=$2 path kind n=0 every all wrong
    shift 2
    all=$(($(wc -l <"$file") * ${#kinds[@]}))
    every=$((all / most + 1))
    if [ -n "${EXHAUSTIVE:-}" ]; then every=1; fi
    while IFS= read -r path; do
        for kind in "${kinds[@]}"; do
            n=$((n + 1))
            if [ $(((n + n / every) % every)) != 0 ] || [ "$path $kind" = "runs link" ]; then
                continue
            fi
            npairs=$((npairs + 1))
            wrong=$(attack "$path" "$kind" "$@")
            bad+=${wrong:+$wrong$'\n'}
        done
    done <"$file"
}
for verb in "${verbs[@]}"; do
    rm -rf s && cp -a saved s
    read -ra words <<<"$verb"
    trace unetctl "${words[@]}" >found
    bad='' npairs=0
    try_all 16 found unetctl "${words[@]}"
    is "$bad" '' "${words[0]}: $npairs of $(($(wc -l <found) * 4)) pairs of paths and kinds"
done

# ---- the trainer
exits 0 "images" unet-train data synth --out "$TMP/data" --count 8 --size 32x32
train=(unet-train train --data "$TMP/data" --size 32x32 --set model.base=4 --set model.depth=1
    --threads 1 --epochs 1 --set train.tensorboard=true --out s/out)
rm -rf saved s && mkdir saved s
trace "${train[@]}" >found
cp -a s/. saved
like found '^out/record.jsonl$' "the trainer's paths are found"
bad='' npairs=0
try_all 16 found "${train[@]}"
rm -rf saved && mkdir -p saved/out
try_all 16 found "${train[@]}"
is "$bad" '' "train: $npairs pairs"
is "$(fingerprint)" "$intact" "nothing elsewhere has changed"
done_testing
