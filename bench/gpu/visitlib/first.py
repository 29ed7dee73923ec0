# SPDX-License-Identifier: BSD-3-Clause
"""The phases of the first call of bench/gpu/visit. Each records its results at once."""

import collections
import glob
import json
import os
import re

from reading import last_json, own_launches, parse_json, read_log, read_ncu
from runner import Command, first_error
from tables import COUNTED
from tools import HERE, Case, Missing, Tools, name_case, under, words

DTYPES = ("bf16", "tf32", "f32")
# What is tried where one step fails, each by itself and then together.
OFF = {"record": {"UNET_CAPTURE": "off"}, "cudnn": {"UNET_CUDNN": "off"},
       "checks": {"UNET_CUDA_KERNELS": "untried"}, "16 bits": {"UNET_CUDA_KERNELS": "plain"},
       "overlap": {"UNET_CAPTURE": "off", "CUDA_LAUNCH_BLOCKING": "1"}}
SWITCHES = (*OFF.values(), {**OFF["cudnn"], **OFF["record"]},
            {**OFF["cudnn"], **OFF["16 bits"], **OFF["record"]})
COMPILED = "compile-graphs", "compile"
METRICS = ("gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
           "smsp__inst_executed.sum", "smsp__issue_active.avg.pct_of_peak_sustained_active",
           "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
           "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
           "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")
HOLD = """import ctypes, time
cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) or time.sleep(3600)"""
WARM = """import sys
for path in sys.argv[1:]:
    with open(path, "rb", buffering=0) as f:
        while f.read(1 << 22):
            pass"""
VERSIONS = """import json, torch
print(json.dumps({
    "torch": torch.__version__, "cuda": torch.version.cuda,
    "cudnn": torch.backends.cudnn.version(), "sees_gpu": torch.cuda.is_available()}))"""


def library_order(path):
    """cuDNN first, then NCCL, and cuBLAS before the rest."""
    for i, word in enumerate(("cudnn", "nccl", "cublas")):
        if word in path:
            return i, path
    return 9, path


class First(Tools):
    # ---- environment

    def environment(self):
        self.inspect_gpu()
        self.runner.keep([self.python, "-c", HOLD])
        libraries = [path for folder in self.libraries for path in glob.glob(folder + "/*.so*")]
        self.runner.keep([self.python, "-c", WARM, *sorted(libraries, key=library_order)])
        done = self.runner.run("PyTorch's versions", [self.python, "-c", VERSIONS])
        self.has_torch = done.cut or not done.code
        if done.cut:
            self.results.failure(done.what, first_error(done), cut=True)
        elif done.code:
            self.no_torch = f"PyTorch cannot be used by {self.python}: {first_error(done)}"
            self.results.failure("PyTorch", self.no_torch)
        else:
            self.results.add("versions", **json.loads(done.out))

    def inspect_gpu(self):
        """Records the machine and the GPU's state, and what makes times doubtful."""
        asked = ("name,driver_version,memory.total,clocks.sm,clocks.max.sm,power.limit,"
                 "temperature.gpu,ecc.errors.uncorrected.volatile.total,mig.mode.current")
        done = self.runner.run("nvidia-smi",
                               ["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"], 8)
        if done.code or done.cut:
            self.results.failure("the GPU's state", first_error(done))
            return
        state = dict(zip(asked.split(","),
                         [v.strip() for v in done.out.splitlines()[0].split(",")]))
        self.results.add("machine", cores=os.cpu_count(), kernel=os.uname().release, state=state)
        errors = state["ecc.errors.uncorrected.volatile.total"]
        if errors.isdigit() and int(errors):
            self.results.failure("the GPU", f"{errors} uncorrected ECC errors since the driver was "
                                 "loaded; results and times are doubtful")
        apps = "--query-compute-apps=pid,process_name,used_memory"
        used = self.runner.run("nvidia-smi", ["nvidia-smi", apps, "--format=csv,noheader"], 5)
        for line in used.out.splitlines():
            if re.match(r"\d", line):
                self.results.failure("the GPU", f"another process uses it: {line.strip()}; times "
                                     "are doubtful")

    # ---- smoke

    def smoke(self):
        """Three steps: the first queues, the second is recorded, the third replayed."""
        case = self.cases()[1]
        done = self.runner.one(self.bench("steps in bf16", case, "bf16", steps=3, limit=20))
        if not done.code and not done.cut:
            self.results.add("checks", what=done.what, checks=1, seconds=round(done.seconds, 2))
            return
        self.results.failure(done.what, first_error(done), cut=done.cut)
        one = {"steps": 3, "limit": 12}
        commands = [self.bench(f"steps in bf16 with {words(env)}", case, "bf16", **one, **env)
                    for env in SWITCHES]
        commands.append(self.bench("steps in f32", case, "f32", **one))
        passed = set()
        for done in self.runner.each(commands, 4):
            failed = done.code or done.cut
            self.results.add("switch", what=done.what, passes=not failed,
                             error=first_error(done) if failed else "")
            passed |= set() if failed else {done.what}
        for env in SWITCHES:
            if f"steps in bf16 with {words(env)}" in passed:
                self.ours.update(env)
                self.results.failure("steps in bf16", f"it passes with {words(env)}; the phases "
                                     "after this one use that")
                return

    # ---- correctness

    def correctness(self):
        path = self.program("network")
        listed = self.runner.run("parts of network", [path, "--list"], 10, self.ours)
        parts = listed.out.split() or [""]
        if self.small:
            parts = parts[1:6] or parts
        commands = [self.command(f"whole networks, part {part}", "network", *part.split(), limit=20)
                    for part in parts]
        if self.has("cudnn_real"):
            commands.append(self.command("cuDNN takes our descriptors", "cudnn_real", limit=10))
        for done in self.runner.each(commands, 8):
            self.tap(done)
        self.compare_losses()

    def compare_losses(self):
        """Epochs of few steps, so that 20 of them follow each other's losses."""
        epochs = 3 if self.small else 20
        few = ["--epochs", epochs, "--lr", "0.01", "--batch-size", 8 if self.small else 128]
        runs = [("cpu", ["--backend", "cpu"], 0),
                ("f32", ["--backend", "cuda", "--dtype", "f32"], 0.002),
                ("bf16", ["--backend", "cuda", "--dtype", "bf16"], 0.02)]
        commands = [self.train(f"20 steps, {name}", "losses-" + name, *few, *how)
                    for name, how, _ in runs]
        if not self.results.failures_of(list(self.runner.each(commands, 3))):
            return
        cpu = read_log(f"{self.scratch}/losses-cpu")
        for name, _, tolerance in runs[1:]:
            own = read_log(f"{self.scratch}/losses-{name}")
            worst = max(abs(a["loss"] - b["loss"]) for a, b in zip(cpu, own))
            what = f"losses of {epochs} steps in {name} against the CPU's"
            if len(cpu) == len(own) == epochs and worst <= tolerance:
                self.results.add("checks", what=what, checks=epochs, worst=worst)
            else:
                self.results.failure(what,
                                     f"they differ by up to {worst:.4g}, more than {tolerance}")

    # ---- times

    def measurements_of_ours(self):
        return [(mode, dtype, case) for mode in ("train", "infer") for dtype in DTYPES
                for case in self.cases()]

    def measure_ours(self, wanted):
        commands = [self.bench(f"ours {dtype}, {name_case(mode, case)}", case, dtype, mode,
                               limit=25) for mode, dtype, case in wanted]
        for (mode, dtype, case), done in zip(wanted, self.runner.each(commands)):
            line = last_json(done.out)
            if done.code or done.cut or not line:
                self.results.failure(done.what, first_error(done), cut=done.cut)
                continue
            if line.get("backend") != "cuda":
                self.results.failure(done.what, f"it was computed by {line.get('backend')}")
                continue
            step_s = line.get("step_s", line.get("step_s_median"))
            kept = ("startup_s", "flop", "bytes")
            self.results.add("time", who="ours " + dtype, mode=mode, case=case[:4], step_s=step_s,
                             **{key: line[key] for key in kept if key in line})

    def ours_times(self):
        self.measure_ours(self.measurements_of_ours())

    def torch_words(self, ways, modes=("train", "infer"), cases=None):
        return [f"{way}:{mode}:{c.base}:{c.height}x{c.width}:{c.batch}:{c.steps}"
                for mode in modes for way in ways for c in cases or self.cases()]

    def torch_command(self, what, words_, *options):
        if self.no_torch:
            raise Missing(self.no_torch)
        cpu = ["--cpu"] if self.small else []
        self.torch_seen[what] = 0
        return Command(what, [self.python, HERE + "/step_torch.py", *cpu, *options, *words_], None,
                       None, lambda text: self.torch_line(what, text))

    def torch_line(self, what, text):
        """Records a line of step_torch.py as soon as it is there."""
        line = parse_json(text)
        if not line or "way" not in line:
            return
        self.torch_seen[what] += 1
        case = Case(*(line[key] for key in Case._fields))
        name = f"PyTorch {line['way']}, {name_case(line['mode'], case)}"
        if "error" in line:
            self.results.failure(name, line["error"])
        elif line.get("graphs_skipped") and line["way"] == "compile-graphs":
            self.results.failure(name, f"{line['graphs_skipped']} graphs were skipped")
        elif "step_s" in line:
            kept = ("step_s", "step_s_min", "step_s_max", "loss", "memory_mib")
            self.results.add("time", who="torch " + line["way"], mode=line["mode"], case=case[:4],
                             **{key: line[key] for key in kept if key in line})

    def torch_end(self, done, planned):
        seen = self.torch_seen[done.what]
        if done.cut or done.code or seen < planned:
            self.results.failure(done.what, f"{first_error(done)}; {seen} of {planned} were done",
                                 cut=done.cut)

    def measure_torch(self, what, words_):
        self.torch_end(self.runner.one(self.torch_command(what, words_)), len(words_))

    def torch_times(self):
        self.measure_torch("PyTorch", self.torch_words(("eager", "graph", "tf32")))

    def compile_times(self):
        self.measure_torch("PyTorch compiled", self.torch_words(COMPILED))

    # ---- every op, while PyTorch compiles

    def opcheck(self):
        listed = self.runner.run("cases of opcheck", [self.program("opcheck"), "--cases"], 10,
                                 self.ours)
        count = collections.Counter(line.split()[0] for line in listed.out.splitlines() if line)
        ops = [op for op, _ in count.most_common()] or [""]
        if self.small:
            ops = ops[-3:]
        commands = [self.command(f"op {op}", "opcheck", "--check", "cuda", *op.split(),
                                 OMP_NUM_THREADS="2") for op in ops]
        fills = self.fills() if self.has_torch else {}
        for done in self.runner.each([*fills.values(), *commands], 8 + len(fills)):
            if done.what in fills:
                self.torch_end(done, 2 * len(COMPILED))
            else:
                self.tap(done)

    def fills(self):
        """{name: command}: PyTorch compiles each case in a process of its own."""
        names = {f"PyTorch compiles {name_case('steps', c)}": c for c in self.cases()}
        return {name: self.torch_command(name, self.torch_words(COMPILED, cases=[c]), "--fill")
                for name, c in names.items()}

    # ---- profile

    def profile(self):
        for case in self.cases()[:2]:
            command = self.bench("by op", case, "bf16", steps=5, limit=12)
            argv = [word for word in command.argv if word != "--json"] + ["--per-op"]
            done = self.runner.one(command._replace(argv=argv))
            if self.results.failures_of([done]):
                name = name_case("train", case)
                self.results.append_to("by_op.txt", f"{name}, bf16\n{done.out}\n")
        ncu, plain = self.tool("ncu"), {"UNET_CUDA_KERNELS": "untried", "UNET_CAPTURE": "off"}
        counts = f"{self.programs}/counts/{COUNTED}"
        if os.path.exists(counts):
            before, step = own_launches(counts)
            names = "|".join(sorted({launch.kernel for launch in step}))
            command = self.bench("ncu, counted step", Case(8, 256, 256, 2, 2), "bf16", steps=2,
                                 limit=35, UNET_CUDNN="only", **plain)
            self.ncu(ncu, "counted", command, "--kernel-name", f"regex:^({names})$",
                     "--launch-skip", str(before), "--launch-count", str(len(step)))
        else:
            self.results.failure("counts by kernel",
                                 f"{counts} is missing: make gpu-visit packs it")
        command = self.bench("ncu, a whole step", self.cases()[0], "bf16", steps=1, **plain)
        self.ncu(ncu, "step", command)

    def ncu(self, ncu, which, command, *options):
        """Profiles the command's kernels; a row of sums for each of their names."""
        path = f"{self.scratch}/ncu-{which}.csv"
        metrics = METRICS if which == "counted" else METRICS[:5]
        tool = [
            ncu, "--clock-control", "none", "--target-processes", "all", "--csv", "--page", "raw",
            "--print-units", "base", "--log-file", path, "--metrics", ",".join(metrics), *options]
        done = self.runner.one(under(tool, command))
        text = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as f:
                text = f.read(15 << 20)
            self.results.append_to(f"ncu-{which}.csv", text)
        rows = read_ncu(text)
        if done.code or done.cut or not rows:
            error = next((line for line in text.splitlines() if line.startswith("==ERROR==")), None)
            self.results.failure(done.what, error or first_error(done), cut=done.cut)
        for name, sums in rows.items():
            self.results.add("kernel", which=which, name=name, **sums)
