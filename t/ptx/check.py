# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the .cu files to PTX and runs the CUDA backend's tests with it (make check-ptx).

usage: check.py [--archs 90,80,100,75,70] [--mutations N] [--seed N] [--table FILE] [--only TEST,...]
           [--sources NAME,...]

srcdir, builddir and NVCC are in the environment; what is made lies in $builddir/ptx. Exit code: 0
if all passed, no kernel for tensor cores spills registers and at least 95 % of the mutations were
noticed, 1 if not, 77 if there is no nvcc."""
import argparse
import collections
import concurrent.futures
import ctypes
import glob
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys

SRC, BUILD = os.environ["srcdir"], os.environ["builddir"]
NVCC = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
FLAGS = ["-O3", "-std=c++17", "-I" + BUILD, "-I" + SRC]
NOTICED = 0.95
COUNTS = ("registers", "threads", "shared", "resident", "launches", "blocks", "warp", "mma",
          "barriers", "wavefronts", "wavefronts_ideal", "sectors", "sectors_ideal")


def in_parallel(function, jobs):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda job: function(*job), jobs))


# ---- PTX

def sources():
    return sorted(glob.glob(SRC + "/trainer/backends/cuda/**/*.cu", recursive=True))


def newest():
    """The time of the newest source or header that a kernel may include."""
    found = [f for end in ("cu", "h") for folder in ("backends/cuda", "core")
             for f in glob.glob(f"{SRC}/trainer/{folder}/**/*.{end}", recursive=True)]
    return max(os.path.getmtime(f) for f in found)


def nvcc_knows(arch):
    listed = subprocess.run([NVCC, "--list-gpu-arch"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    return f"compute_{arch}" in listed.split()


def find_in_cuda12(name):
    """A file of the CUDA 12 that is named by CUDA12, such as a folder of pip install --target
    with nvidia-cuda-nvrtc-cu12, -runtime-cu12 and -nvcc-cu12; or None."""
    folder = os.environ.get("CUDA12")
    found = glob.glob(f"{folder}/**/{name}", recursive=True) if folder else []
    return found[0] if found else None


def split_ptx(text):
    """The module's head, and the text of each kernel and function."""
    text = re.sub(r"//.*", "", text)
    return re.split(r"(?m)^(?=\.(?:visible |extern |weak )*\.?(?:entry|func)\b)", text)


def compile_by_nvrtc(source, arch):
    """The PTX of the kernels: NVRTC compiles the host's functions for the GPU as well, which are
    left out, and so are their variables."""
    ctypes.CDLL(find_in_cuda12("libnvrtc-builtins.so.12.?"))  # which NVRTC looks for elsewhere
    nvrtc = ctypes.CDLL(find_in_cuda12("libnvrtc.so.12"))
    gcc = subprocess.run(["gcc", "-print-file-name=include"], check=True, text=True,
                         stdout=subprocess.PIPE).stdout.strip()
    include = os.path.dirname(find_in_cuda12("cuda_bf16.h"))
    options = [f"--gpu-architecture=compute_{arch}", *FLAGS[1:], "-default-device", "-w",
               "-D__GNUC__=4", "-D__x86_64__", "-D__LP64__", "-D__linux__", "-I" + include,
               "-I" + gcc, "-I/usr/include", "-I/usr/include/x86_64-linux-gnu"]
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    header = "trainer/core/tensor.h"  # has a compound literal of C, which NVRTC refuses
    text = re.sub(r"return \(struct shape\)(.*);", r"struct shape s = \1; return s;",
                  open(f"{SRC}/{header}").read())
    with open(source, "rb") as f:
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), f.read(), source.encode(), 1,
                                 (ctypes.c_char_p * 1)(text.encode()),
                                 (ctypes.c_char_p * 1)(header.encode()))
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(
        *[o.encode() for o in options]))
    what = "ProgramLog" if failed else "PTX"
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, text)
    if failed:
        raise RuntimeError(text.value.decode())
    head, *parts = split_ptx(re.sub(r"(?m)^\.global .*\n", "", text.value.decode()))
    kernels = "".join(p for p in parts if ".entry" in p.split("(")[0])
    called = set(re.findall(r"\b(\w+),\s*\(", kernels))
    functions = [p for p in parts if ".entry" not in p.split("(")[0] and
                 called & set(re.findall(r"\w+", p.split("{")[0]))]
    return head + "".join(functions) + kernels


def compile_one(source, arch, since):
    """PTX, and what ptxas makes of it: registers are compared with what a processor has."""
    base = f"{BUILD}/ptx/{arch}/{os.path.basename(source)[:-3]}"
    ptxas, log = os.path.join(os.path.dirname(NVCC), "ptxas"), ""
    if os.path.exists(base + ".log") and os.path.getmtime(base + ".log") > since:
        return
    os.makedirs(os.path.dirname(base), exist_ok=True)
    if nvcc_knows(arch):
        subprocess.run([NVCC, "-ptx", f"-arch=compute_{arch}", *FLAGS, "-o", base + ".ptx",
                        source], check=True)
    else:
        text = compile_by_nvrtc(source, arch)
        ptxas = find_in_cuda12("ptxas")
        with open(base + ".ptx", "w") as f:
            f.write(text)
    if ptxas:
        log = subprocess.run([ptxas, "-v", f"-arch=sm_{arch}", "-o", "/dev/null", base + ".ptx"],
                             check=True, stderr=subprocess.PIPE, text=True).stderr
    with open(base + ".log", "w") as f:
        f.write(log)


def kernel_name(mangled):
    """add of _Z3add8add_args"""
    length = re.match(r"_ZL?(\d+)", mangled)
    return mangled[length.end():][:int(length[1])]


def spills(log):
    """{kernel: bytes of registers that ptxas stores in and loads from local memory}, if any"""
    found = re.findall(r"properties for (\w+)\n.*?(\d+) bytes spill stores, (\d+) bytes", log)
    return {kernel_name(name): int(stores) + int(loads) for name, stores, loads in found
            if int(stores) + int(loads)}


def check_spills(archs):
    """Prints all; returns whether no kernel for tensor cores has any."""
    passed = True
    for arch in archs:
        for path in sorted(glob.glob(f"{BUILD}/ptx/{arch}/*.log")):
            for kernel, nbytes in spills(open(path).read()).items():
                print(f"sm_{arch} {kernel}: {nbytes} bytes of registers are spilled")
                passed = passed and not kernel.startswith("mma_")
    return passed


def kernel_texts(arch):
    """{kernel: what decides what it does}: its PTX, the functions that it calls and its module's
    variables, without comments and the architecture's name."""
    texts = {}
    for path in glob.glob(f"{BUILD}/ptx/{arch}/*.ptx"):
        head, *parts = split_ptx(open(path).read())
        head = re.sub(r"(?m)^\.(version|target).*", "", head)
        functions = "".join(p for p in parts if ".entry" not in p.split("(")[0])
        for part in parts:
            name = re.match(r"[^(]*\.entry (\w+)", part)
            if name:
                calls = "call" in part
                texts[kernel_name(name[1])] = head + part + (functions if calls else "")
    return texts


# ---- tests

def list_tests():
    """mma, the parts of network, and each case of opcheck."""
    tests = ["mma"]
    for program, words in (("network", ""), ("opcheck", "--check cuda ")):
        path = f"{BUILD}/t/ptx/{program}"
        listed = subprocess.run([path, "--list" if program == "network" else "--cases"],
                                check=True, text=True, stdout=subprocess.PIPE).stdout \
            if os.path.exists(path) else ""
        tests += [f"{program} {words}{line}" for line in listed.splitlines()]
    return tests


def run_test(test, arch, folder, report="", limit=None):
    """(number of checks, what failed, seconds of processor time). limit: at the first failure, or
    after so many seconds, which is a failure, it is ended."""
    count, failed, planned = 0, [], False
    env = dict(os.environ, PTX_DIR=folder, EMULATE_CAPABILITY=str(arch), PTX_REPORT=report,
               OMP_WAIT_POLICY="passive", OMP_NUM_THREADS="1")
    program, *words = test.split()
    errors = f"{folder}/{test.replace(' ', '-')}.errors"
    with open(errors, "w") as err:
        p = subprocess.Popen([f"{BUILD}/t/ptx/{program}", *words], env=env, text=True,
                             stdout=subprocess.PIPE, stderr=err)
        if limit:
            resource.prlimit(p.pid, resource.RLIMIT_CPU, (limit, limit))
        for line in p.stdout:
            count += re.match("(not )?ok(?!.*# skip)", line, re.I) is not None
            planned |= line.startswith("1..")
            if line.startswith("not ok"):
                failed.append(line.strip())
                if limit:
                    os.kill(p.pid, signal.SIGKILL)  # p.kill() might reap it
                    break
        p.stdout.close()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    if not planned and not failed:
        said = open(errors).read().strip().splitlines()
        failed.append(said[-1] if said else f"ended by signal {-p.returncode}")
    return count, failed, usage.ru_utime + usage.ru_stime


class Report:
    """What ptx_report wrote of one test on one architecture."""

    def __init__(self, path):
        self.kernels, self.forms, self.lines = {}, {}, collections.defaultdict(set)
        for line in open(path) if os.path.exists(path) else ():
            what, *rest = line.rstrip("\n").split("\t")
            if what == "kernel":
                self.kernels[rest[0]] = dict(zip(COUNTS, map(int, rest[2:])))
            elif what == "form":
                self.forms[rest[0]] = int(rest[1])
            else:
                self.lines[rest[0]].add(int(rest[1]))


def check_one(arch, tests):
    """Prints what failed. {test: (Report, seconds, how many checks, how many failed)}"""
    def one(test):
        path = f"{BUILD}/ptx/{arch}/{test.replace(' ', '-')}.report"
        pathlib.Path(path).unlink(missing_ok=True)  # a test without kernels writes none
        count, failed, seconds = run_test(test, arch, f"{BUILD}/ptx/{arch}", path)
        for line in failed[:10]:
            print(f"sm_{arch} {test}: {line}", flush=True)
        return Report(path), seconds, count, len(failed)

    done = dict(zip(tests, in_parallel(one, [(test,) for test in tests])))
    groups = collections.defaultdict(list)
    for test, result in done.items():
        groups[re.sub(r" \d+$", "", test)].append(result)
    for group, results in groups.items():
        print(f"sm_{arch} {group}: {sum(r[2] for r in results)} checks, "
              f"{sum(r[3] for r in results)} failed, {sum(r[1] for r in results):.1f} s",
              flush=True)
    return done


SMALL = (86, 89, 120)  # 99 KiB of shared memory: not all kernels for tensor cores fit


def check(archs, tests):
    """Runs all tests on the first architecture, and on the others those with a kernel whose PTX is
    not what was run already, or where the backend chooses other kernels: before sm_80 all of them.
    ({(arch, test): (Report, seconds)}, whether all passed)"""
    texts, ran, reports, passed, count = {}, {}, {}, True, 0
    for arch in archs:
        texts[arch] = kernel_texts(arch)
        again = [test for test in tests if arch == archs[0] or arch < 80 or any(
            texts[arch].get(kernel) not in ran.get(kernel, ())
            or (arch in SMALL and kernel.startswith("mma_"))
            for kernel in reports[archs[0], test][0].kernels)]
        for test, (report, seconds, n, nfailed) in check_one(arch, again).items():
            reports[arch, test] = report, seconds
            passed, count = passed and nfailed == 0, count + n
            for kernel in report.kernels:
                ran.setdefault(kernel, set()).add(texts[arch].get(kernel))
        if len(again) < len(tests):
            print(f"sm_{arch}: {len(tests) - len(again)} of {len(tests)} tests were left out, as "
                  "all PTX that they run was run already")
    print(f"{count} checks on {len(archs)} architectures")
    return reports, passed


# ---- mutations: one instruction of PTX becomes another

SWAPS = (("add.", "sub."), ("sub.", "add."), ("setp.lt.", "setp.ge."), ("setp.ge.", "setp.lt."),
         ("setp.gt.", "setp.le."), ("setp.le.", "setp.gt."), ("setp.eq.", "setp.ne."),
         ("setp.ne.", "setp.eq."), ("setp.leu.", "setp.gtu."), ("and.", "or."), ("or.", "and."),
         ("xor.", "or."), ("shl.b", "shr.u"), ("shr.u", "shl.b"), ("min.", "max."),
         ("max.", "min."), ("mul.f", "add.f"), ("div.u", "rem.u"), ("rem.u", "div.u"))


# (form, the two operands that change places; 0 is the result)
EXCHANGES = ((r"(sub|setp\.(lt|le|gt|ge)|selp|div|rem|bfi)\.|sh[lr]\.(b|u)32|cvt\.rn\.bf16x2", 1, 2),
             (r"(fma|mad)\.", 2, 3), (r"mma\.", 1, 3))


def mutate_line(line, rng):
    """(what was done, the new line), or None."""
    code, ways = line.strip(), []
    if re.match(r"@%p", code):
        ways.append(("guard negated", "@!" + code[1:]))
    if re.match(r"(bar|st|atom|red|cp\.async)\.", code):
        ways.append(("left out", ""))
    for old, new in SWAPS:
        if code.startswith(old):
            ways.append((f"{old} to {new}", new + code[len(old):]))
    number = re.search(r"(?<=, )-?\d+;$", code)
    if number and not code.startswith("cp."):
        ways.append(("number + 1", f"{code[:number.start()]}{int(number[0][:-1]) + 1};"))
    place = re.search(r"\[([^\]+]+)(?:\+(-?\d+))?\]", code)
    if place and code.startswith(("ld", "st.", "cp.async")):
        size = 16 if code.startswith(("ldmatrix", "cp.async")) else 4
        moved = f"[{place[1]}+{int(place[2] or 0) + size}]"
        ways.append(("address moved", code[:place.start()] + moved + code[place.end():]))
    form, _, rest = code.rstrip(";").partition(" ")
    operands = re.split(r",\s*(?![^{]*\})", rest)
    for pattern, i, j in EXCHANGES:
        if re.match(pattern, form) and operands[i] != operands[j]:
            operands[i], operands[j] = operands[j], operands[i]
            ways.append(("operands exchanged", f"{form} {', '.join(operands)};"))
    if not ways:
        return None
    what, new = rng.choice(ways)
    return what, "\t" + new


def find_modules(arch):
    """{kernel: path of its PTX}"""
    found = {}
    for path in glob.glob(f"{BUILD}/ptx/{arch}/*.ptx"):
        for mangled in re.findall(r"\.entry (\w+)\(", open(path).read()):
            found[kernel_name(mangled)] = path
    return found


def draw_mutations(reports, archs, count, rng):
    """[(arch, kernel, path, line, [(seconds, test that runs it)], what was done, new text)]: the
    cheapest test first, kernels have equal shares, and only instructions that ran are drawn, of an
    architecture that has no PTX of an earlier one: there all tests of the kernel ran."""
    modules = {arch: find_modules(arch) for arch in archs}
    every = {arch: kernel_texts(arch) for arch in archs}
    texts, drawn = {}, []
    kernels = sorted({kernel for report, _ in reports.values() for kernel in report.kernels})
    for n in range(100 * count):
        kernel = kernels[n % len(kernels)]
        own = {every[arch].get(kernel): arch for arch in reversed(archs)}
        arch = rng.choice(sorted(own.values()))
        ran = [(seconds, test, report.lines[kernel]) for (a, test), (report, seconds)
               in sorted(reports.items()) if a == arch and kernel in report.kernels]
        if not ran or len(drawn) == count:
            continue
        line = rng.choice(sorted(set().union(*(lines for _, _, lines in ran))))
        path = modules[arch][kernel]
        if path not in texts:
            texts[path] = open(path).read().split("\n")
        changed = mutate_line(texts[path][line - 1], rng)
        if changed:
            tests = sorted((seconds, test) for seconds, test, lines in ran if line in lines)
            drawn.append((arch, kernel, path, line, tests, *changed))
    return drawn


def notice(index, mutation):
    """What the first test that noticed it said, or None."""
    arch, _, path, line, tests, _, new = mutation
    folder = f"{BUILD}/ptx/mutation{index}"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for f in glob.glob(f"{BUILD}/ptx/{arch}/*.ptx") + glob.glob(f"{BUILD}/ptx/{arch}/*.log"):
        if f != path:
            os.symlink(f, f"{folder}/{os.path.basename(f)}")
    text = open(path).read().split("\n")
    text[line - 1] = new
    with open(f"{folder}/{os.path.basename(path)}", "w") as f:
        f.write("\n".join(text))
    said = None
    for seconds, test in tests: # a mutation may make a loop endless
        limit = int(5 + 10 * seconds)
        said = said or next(iter(run_test(test, arch, folder, limit=limit)[1]), None)
    shutil.rmtree(folder)
    return said


def check_mutations(reports, archs, count, seed):
    """(lines about those that no test noticed, how many were tried)"""
    mutations = draw_mutations(reports, archs, count, random.Random(seed))
    said = in_parallel(notice, list(enumerate(mutations)))
    survivors = []
    for (arch, kernel, path, line, _, what, new), reason in zip(mutations, said):
        if reason is None:
            old = open(path).read().split("\n")[line - 1].strip()
            survivors.append(f"sm_{arch} {kernel}, line {line}: {what}: {old} -> {new.strip()}")
    faults = sum(1 for s in said if s and s.startswith("ptx:"))
    print(f"{len(mutations)} mutations: {len(mutations) - len(survivors)} noticed "
          f"({faults} of them by the interpreter), {len(survivors)} not")
    for line in survivors:
        print("    " + line)
    return survivors, len(mutations)


# ---- the table

def sum_counts(reports, arch):
    """{kernel: {count: of all tests}}; sizes are the largest."""
    total = {}
    for (a, _), (report, _) in reports.items():
        for kernel, counts in report.kernels.items() if a == arch else ():
            have = total.setdefault(kernel, dict.fromkeys(COUNTS, 0))
            for key in COUNTS[:3]:
                have[key] = max(have[key], counts[key])
            have["resident"] = min(have["resident"] or 99, counts["resident"])
            for key in COUNTS[4:]:
                have[key] += counts[key]
    return total


def ratio(a, b):
    return f"{a / b:.2f}" if b else "-"


def write_table(path, reports, archs):
    with open(path, "w") as f:
        for arch in archs:
            forms = collections.Counter()
            for (a, _), (report, _) in reports.items():
                forms.update(report.forms if a == arch else {})
            ran = sum(1 for n in forms.values() if n)
            total = sum_counts(reports, arch)
            warp = sum(k["warp"] for k in total.values())
            launches = sum(k["launches"] for k in total.values())
            print(f"sm_{arch}: {len(total)} kernels of {len(find_modules(arch))}, {launches} "
                  f"launches, {warp / 1e6:.1f} million warp instructions, {ran} of {len(forms)} "
                  "forms ran", file=f)
            print("not run: " + ", ".join(sorted(k for k, n in forms.items() if not n)), file=f)
            print("kernels not run: " + ", ".join(sorted(set(find_modules(arch)) - set(total))),
                  file=f)
            print("kernel\tregisters\tshared\tresident\tlaunches\twarp\tmma\tbarriers\t"
                  "wavefronts/ideal\tsectors/ideal", file=f)
            for name, k in sorted(total.items()):
                print(name, k["registers"], k["shared"], k["resident"], k["launches"], k["warp"],
                      k["mma"], k["barriers"], ratio(k["wavefronts"], k["wavefronts_ideal"]),
                      ratio(k["sectors"], k["sectors_ideal"]), sep="\t", file=f)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--archs", default="90,80,100,120,75,70")
    parser.add_argument("--mutations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", default=f"{BUILD}/ptx/table")
    parser.add_argument("--only", help="tests, separated by commas")
    parser.add_argument("--sources", help="names of .cu files, all that those tests need")
    args = parser.parse_args()
    archs = [int(a) for a in args.archs.split(",")]
    if not os.access(NVCC, os.X_OK):
        print("there is no nvcc")
        return 77
    for arch in list(archs):
        if not nvcc_knows(arch) and not find_in_cuda12("libnvrtc.so.12"):
            print(f"sm_{arch} is left out: {NVCC} does not compile for it, and CUDA12=FOLDER does "
                  "not name a CUDA 12 with NVRTC")
            archs.remove(arch)
    since = newest()
    wanted = args.sources.split(",") if args.sources else None
    in_parallel(compile_one, [(s, arch, since) for s in sources() for arch in archs
                              if not wanted or os.path.basename(s)[:-3] in wanted])
    only = [word + " " for word in (args.only or "").split(",") if word]
    tests = [t for t in list_tests() if not only or (t + " ").startswith(tuple(only))]
    few_registers = check_spills(archs)
    reports, passed = check(archs, tests)
    passed = passed and few_registers
    write_table(args.table, reports, archs)
    print(f"the counts of each kernel are in {args.table}")
    if args.mutations == 0 or not passed:
        return not passed
    survivors, tried = check_mutations(reports, archs, args.mutations, args.seed)
    return len(survivors) > (1 - NOTICED) * tried


if __name__ == "__main__":
    sys.exit(main())
