#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Logs with every kind of damage are either reported and excluded, or read exactly. A second reader,
# in Python, decides which.
. "${srcdir:-.}/t/lib.sh"

logs() { # DIR: 3 good logs of the reference's form where the reference's own are not at hand
    local n
    mkdir "$1"
    for n in 1 2 4; do
        awk -v n="$n" 'BEGIN {
            print ",time_per_epoch,loss,lr,training_time,test_time,iou"
            for (e = 0; e < 30; e++) printf "%d,%.6f,%.6f,0.001000,%.6f,1.890000,0.9%d4300\n", e,
                (e ? 37 : 50) / n + e % 7 / 9, 1 / (e + 2), 31 * 38 / n + 20, n }' >"$1/log_$n.csv"
    done
}

if shared reference-logs; then
    cp -r "$UNETCTL_SHARED/reference-logs/tensorflow" good
    chmod -R u+w good
else
    logs good
fi
cat >damage.py <<'EOF'
"""damage.py GOOD BAD N: N damaged copies of the logs in GOOD, as engines d0, d1, ... in BAD."""
import glob, os, random, sys

good, bad, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
sources = [open(f, "rb").read() for f in sorted(glob.glob(good + "/log_[0-9]*.csv"))]
os.makedirs(bad)
rng = random.Random(5060)
words = [b"nan", b"inf", b"-inf", b"1e999", b"1e300", b"-1", b"", b"0x10", b"1,5", b"1e-400", b"\xff",
         b"NaN", b"1_0", b" 1", b"+1", b"--1", b"1e", b"99999999999999999999", b"\x00", b'"1"']

def change_cell(lines, row, column, value):
    cells = lines[row].split(b",")
    cells[column] = value
    lines[row] = b",".join(cells)

def damage(text):
    lines = text.split(b"\n")
    row, other = rng.randrange(1, len(lines) - 1), rng.randrange(1, len(lines) - 1)
    kind = rng.randrange(22)
    if kind == 0:    # bytes flip
        data = bytearray(text)
        for _ in range(rng.choice((1, 1, 1, 8))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(data)
    if kind == 1:    # cut anywhere
        return text[:rng.randrange(len(text))]
    if kind == 2:    # another rank's bytes, at the start or anywhere
        at, piece = rng.choice((0, rng.randrange(len(text)))), rng.choice((b'""\n', lines[0] + b"\n", b"\0" * 40))
        return text[:at] + piece + text[at + len(piece):]
    if kind == 3:
        return text.replace(b"\n", b"\r\n")
    if kind == 4:
        return b"\xef\xbb\xbf" + text
    if kind == 5:    # no newline at the end
        return text[:-1]
    if kind == 6:    # an odd cell
        change_cell(lines, row, rng.randrange(7), rng.choice(words))
    elif kind == 7:  # a row twice, or away, or in another place
        lines.insert(other, lines[row])
    elif kind == 8:
        del lines[row]
    elif kind == 9:
        lines[row], lines[other] = lines[other], lines[row]
    elif kind == 10:  # columns in another order, in all rows or in one
        order = list(range(7))
        rng.shuffle(order)
        rows = range(len(lines) - 1) if rng.random() < 0.5 else [row]
        for i in rows:
            cells = lines[i].split(b",")
            lines[i] = b",".join(cells[k] for k in order)
    elif kind == 11:  # the header of another program
        lines[0] = rng.choice((b",time_per_epoch,loss,val_loss,lr,training_time,test_time,iou", b"epoch,loss",
                               b",time_per_epoch,loss,lr,training_time,test_time", lines[0].upper(), b""))
    elif kind == 12:  # the tail of another run
        lines[row:] = rng.choice(sources).split(b"\n")[row:]
    elif kind == 13:
        change_cell(lines, row, 0, str(-row).encode())
    elif kind == 14:
        change_cell(lines, row, rng.choice((1, 4, 5)), b"-1.000000")
    elif kind == 15:
        lines[row] += b",1.000000"
    elif kind == 16:
        lines.insert(row, b"")
    elif kind == 17:
        for i in range(1, len(lines) - 1):
            change_cell(lines, i, 6, rng.choice((b"1.5", b"nan", b"-0.1")))
    elif kind == 20:  # no epoch takes any time, or each takes ages
        time, training = rng.choice(((b"0.000000", None), (b"0.000000", b"0.000000"), (b"1e12", b"1e15"),
                                     (b"1e300", b"1e303"), (b"0.5", b"2e9")))
        for i in range(1, len(lines) - 1):
            change_cell(lines, i, 1, time)
            if training: change_cell(lines, i, 4, training)
    elif kind == 21:  # nothing: a copy under another name
        pass
    elif kind == 18:
        lines[row] = lines[row].replace(b",", b";")
    else:
        change_cell(lines, row, 1, b"%d.000000" % (10 ** rng.randrange(4, 60)))
    return b"\n".join(lines)

for i in range(count):
    with open(f"{bad}/log_d{i}_{rng.choice((1, 2, 4, 8))}.csv", "wb") as f:
        f.write(damage(rng.choice(sources)))
EOF
cat >judge.py <<'EOF'
"""judge.py BAD OUT: is OUT/results.csv what a strict reading of the logs in BAD says?"""
import collections, csv, glob, math, os, re, statistics, sys

number = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

def read(text):
    """(epochs, median time, total, IoU), or None."""
    if not text.endswith(b"\n") or b"\0" in text: return None
    lines = text.split(b"\n")[:-1]
    if lines[0] != b",time_per_epoch,loss,lr,training_time,test_time,iou" or len(lines) < 2: return None
    rows = []
    for i, line in enumerate(lines[1:]):
        cells = line.split(b",")
        if len(cells) != 7 or cells[0] != b"%d" % i: return None
        if not all(number.fullmatch(c) for c in cells[1:]): return None
        row = [float(c) for c in cells[1:]]
        if not all(map(math.isfinite, row)) or not 0 <= row[5] <= 1: return None
        if not 0 < row[0] <= 1e9 or not 0 <= row[3] <= 1e9 or not 0 <= row[4] <= 1e9: return None
        rows.append(row)
    if any(r[3:] != rows[0][3:] for r in rows): return None
    times = [r[0] for r in rows]
    if sum(times) > 1.01 * rows[0][3] + 0.01: return None
    same = tuple((r[0], r[1]) for r in rows), rows[0][3], rows[0][5]
    return len(rows), statistics.median(times[1:] or [math.nan]), rows[0][3], rows[0][5], same

bad, out = sys.argv[1:]
table = {row["run"]: row for row in csv.DictReader(open(out + "/results.csv"))}
used = wrong = copies = 0
good = {path: read(open(path, "rb").read()) for path in glob.glob(bad + "/*.csv")}
times_seen = collections.Counter(want[4] for want in good.values() if want and want[0] > 1)
for path, want in good.items():
    name = os.path.basename(path)[:-4]
    row = table.pop(name, None)
    if row is None:
        what = "has no row"
    elif want and times_seen[want[4]] > 1:  # another log has the same times under another engine
        copies += 1
        what = (row["state"] != "corrupt" or "it is a copy of" not in row["note"]) and "a copy was taken"
    elif want is None:
        what = row["state"] not in ("corrupt", "unread") and "was taken" or row["iou"] + row["median_epoch_s"] and "left numbers" \
            or not row["note"].startswith(("/", "bad", path)) and "was refused without a place: " + row["note"]
    elif row["state"] != "done":
        what = "was refused: " + row["note"]
    else:
        used += 1
        got = [float(row[k] or "nan") for k in ("epochs", "median_epoch_s", "training_time", "iou")]
        what = any(abs(a - b) > 1e-6 * max(1, abs(b)) for a, b in zip(got, want)) and f"says {want}, not {got}"
        what = what or not os.path.exists(f"{out}/{name}.csv") and "was not copied"
    if what:
        wrong += 1
        print(f"# {name}: {what}")
print(f"# {used} still good, {copies} copies, {len(table)} rows too many")
sys.exit(bool(wrong or table or not used or not copies))
EOF
ok "800 damaged logs are made" python3 damage.py good bad 800
exits 1 "they are collected" unetctl collect --logs bad -o out
ok "each is read as by another reader" python3 judge.py bad out
is "$(unetctl report --logs bad --text 2>&1 | grep -cE '(^|[^a-z])-?(nan|inf)([^a-z]|$)')" \
    "$(unetctl report --logs bad --text 2>&1 | grep -cE "'[+-]?(nan|inf)'")" \
    "no number in the report is nan or inf"

# In a folder of good logs, a damaged log only removes its own run.
cp -r good mixed
printf '""\n' | dd of=mixed/log_4.csv conv=notrunc status=none
mkdir without
cp good/*.csv without
rm without/log_4.csv
points() { unetctl report --logs "$1" --json - | python3 -c '
import json, sys
for e in json.load(sys.stdin)["engines"]:
    for p in e["points"]: print(e["engine"], json.dumps(p, sort_keys=True))'; }
is "$(points mixed)" "$(points without)" "a damaged log of 4 GPUs changes nothing else"
done_testing
