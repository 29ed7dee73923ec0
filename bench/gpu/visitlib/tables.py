# SPDX-License-Identifier: BSD-3-Clause
"""Tables in Markdown of what bench/gpu/visit recorded: training steps and inference (ours beside
PyTorch's, the roofline and what was predicted), kernels (measured beside counted), checks, and the
list of failures with the first error of each."""

import collections
import json
import re

from predict import GPUS, SECTOR, read_step
from reading import parse_json

# Shares of the data sheet's rates that large copies and products reach on an H100.
MEMORY, PRODUCTS = 0.895, 0.657
COUNTED = "8-256x256-2-bf16"  # the step whose counts by kernel are packed
RATE = {"bf16": "half", "tf32": "tf32", "f32": "fp32"}
OURS = ("ours bf16", "ours tf32", "ours f32")
TORCH = ("torch eager", "torch graph", "torch compile", "torch compile-graphs", "torch compile-max",
         "torch tf32")
TIME = "gpu__time_duration.sum"


def read(path):
    """The lines of results.jsonl, except the one in which a visit was ended."""
    with open(path, encoding="utf-8") as f:
        return [line for line in map(parse_json, f) if line]


def gpu_of(lines):
    """(name, key of predict.GPUS or None)"""
    for line in lines:
        if line["kind"] == "devices":
            names = [d["name"] for d in line["found"]["devices"] if d["kind"] == "gpu"]
            return names[0], next((g for g in ("H200", "H100", "A100", "V100") if g in names[0]),
                                  None)
    return "no GPU", None


def heading(lines):
    name, _ = gpu_of(lines)
    parts = [name]
    for line in lines:
        if line["kind"] == "machine":
            parts.append("driver " + line["state"].get("driver_version", "?"))
        elif line["kind"] == "devices":
            cuda = line["found"]["cuda"]
            parts.append(f"CUDA {cuda['runtime'] // 1000}.{cuda['runtime'] % 1000 // 10}, cuDNN "
                         f"{cuda['cudnn']}, NCCL {cuda['nccl']}")
        elif line["kind"] == "versions":
            parts.append("PyTorch " + line["torch"])
    return ", ".join(dict.fromkeys(parts))


def times_of(lines):
    """{(mode, case): {who: line}}; a later measurement replaces an earlier one."""
    found = collections.OrderedDict()
    for line in lines:
        if line["kind"] == "time":
            found.setdefault((line["mode"], tuple(line["case"])), {})[line["who"]] = line
    return found


def roofline_s(line, dtype, gpu):
    if not gpu or "flop" not in line:
        return None
    rates = GPUS[gpu]
    return max(line["flop"] / (getattr(rates, RATE[dtype]) * 1e12 * PRODUCTS),
               line["bytes"] / (rates.gb_per_s * 1e9 * MEMORY))


def ms(seconds):
    return ("-" if seconds is None else
            f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:.0f}")


def predicted(programs):
    try:
        with open(programs + "/predicted.json", encoding="utf-8") as f:
            return {(s["case"], s["dtype"], s["gpu"]): s["ours_ms"] for s in json.load(f)["steps"]}
    except (OSError, ValueError, KeyError):
        return {}


def steps_table(mode, times, gpu, programs):
    guesses = predicted(programs)
    who = [w for w in TORCH if any(w in row for (m, _), row in times.items() if m == mode)]
    rows = [
        f"| {mode}, ms | ours bf16 | roofline, share | predicted | ours tf32 | ours f32 | " +
        "".join(f"{w.replace('torch ', 'PyTorch ')} | "
                for w in who) + "best PyTorch / ours bf16 |", "|" + "---|" * (7 + len(who))]
    for (m, case), row in times.items():
        if m != mode:
            continue
        base, height, width, batch = case
        name = f"base {base}, {height}x{width}, batch {batch}"
        own = [row.get(w, {}).get("step_s") for w in OURS]
        floor = roofline_s(row["ours bf16"], "bf16", gpu) if own[0] else None
        guess = guesses.get((name, "bf16", gpu)) if mode == "train" else None
        theirs = [row.get(w, {}).get("step_s") for w in who]
        best = min((t for w, t in zip(who, theirs) if t and w != "torch tf32"), default=None)
        cells = (name, ms(own[0]), f"{ms(floor)}, {100 * floor / own[0]:.0f} %" if floor else "-",
                 f"{guess:.3g}" if guess else "-", ms(own[1]), ms(own[2]), *map(ms, theirs),
                 f"{best / own[0]:.2f}" if best and own[0] else "-")
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n" if len(rows) > 2 else ""


def counted(programs, name):
    """{kernel: sums of the counts of doc/PTX.md}"""
    try:
        launches = read_step(f"{programs}/counts/{name}")
    except (OSError, ValueError, IndexError):
        return {}
    sums = {}
    for launch in launches:
        row = sums.setdefault(launch.kernel, collections.Counter())
        row.update(launches=1, warp=launch.warp, wavefronts=launch.wavefronts,
                   sectors=launch.sectors, dram=launch.footprint * SECTOR)
    return sums


def beside(measured, count):
    """Measured, and behind a stroke what was counted."""
    if measured is None:
        return "-"
    return f"{measured:.4g}" + ("" if count is None else f" / {count:.4g}")


def kernel_row(r, count):
    """r: sums over a kernel's launches, by ncu's names."""
    loads, stores = (r.get(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum")
                     for op in ("ld", "st"))
    issue = r.get("smsp__issue_active.avg.pct_of_peak_sustained_active", 0) / r["launches"]
    dram = count.get("dram")
    cells = (f"`{r['name']}`", beside(r["launches"], count.get("launches")),
             f"{1e-3 * r.get(TIME, 0):.1f}", f"{issue:.0f}",
             beside(1e-6 * (r.get("dram__bytes_read.sum", 0) + r.get("dram__bytes_write.sum", 0)),
                    None if dram is None else 1e-6 * dram),
             beside(r.get("smsp__inst_executed.sum"), count.get("warp")),
             beside(r.get("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),
                    count.get("wavefronts")),
             beside(None if loads is None or stores is None else loads + stores,
                    count.get("sectors")))
    return f"| {' | '.join(cells)} |"


def kernels_table(lines, which, counts, most=20):
    rows = [line for line in lines if line["kind"] == "kernel" and line["which"] == which]
    if not rows:
        return ""
    rows.sort(key=lambda r: -r.get(TIME, 0))
    total = 1e-6 * sum(r.get(TIME, 0) for r in rows)
    text = [f"ncu, {which}: {sum(r['launches'] for r in rows)} launches, {total:.3f} ms, caches "
            "empty before each" + ("; behind a stroke: counted in PTX." if counts else "."), "",
            "| kernel | launches | us | issue slots, % | DRAM, MB | warp instructions | "
            "wavefronts | sectors |", "|" + "---|" * 8]
    text += [kernel_row(r, counts.get(r["name"], {})) for r in rows[:most]]
    return "\n".join(text) + "\n"


def checks_list(lines):
    sums = collections.OrderedDict()
    for line in lines:
        if line["kind"] == "checks":
            what = re.sub(r"^op .*", "every op", re.sub(r", part \d+$", "", line["what"]))
            sums[what] = sums.get(what, 0) + line["checks"]
    text = [f"- {what}: {n} checks passed" for what, n in sums.items()]
    for line in lines:
        if line["kind"] == "training":
            text.append(
                f"- training, {line['who']}: IoU {line['iou']:.4f} after {line['epochs']} epochs, "
                f"{line['seconds']} s")
        elif line["kind"] == "switch":
            text.append(f"- {line['what']}: {'passes' if line['passes'] else line['error']}")
    return "\n".join(text) + "\n"


def table(lines, programs):
    _, gpu = gpu_of(lines)
    times = times_of(lines)
    parts = [heading(lines) + f". Roofline: {PRODUCTS} of the data sheet's products, {MEMORY} of "
             "its memory.\n",
             *(steps_table(mode, times, gpu, programs) for mode in ("train", "infer")),
             kernels_table(lines, "step", {}),
             kernels_table(lines, "counted", counted(programs, COUNTED)), checks_list(lines)]
    return "\n".join(part for part in parts if part)


def failures(lines):
    text = ["Failures, with the first error of each:", ""]
    for line in lines:
        if line["kind"] == "failure":
            where = f"call {line['call']}, {line['phase'] or 'start'}"
            text.append(f"- {where}: {line['what']}: {line['error']}")
    return "\n".join(text if len(text) > 2 else ["No failures."]) + "\n"
