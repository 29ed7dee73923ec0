# SPDX-License-Identifier: BSD-3-Clause
"""Runs commands with time limits and records results, for bench/gpu/visit."""

import collections
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time

GRACE_S = 2  # between SIGTERM and SIGKILL
LOG_BYTES = 12 << 20  # of all output that is kept in the log
PR_SET_CHILD_SUBREAPER = 36

# sink: called with each line of the output as soon as it is there, or None.
Command = collections.namedtuple("Command", "what argv env limit sink", defaults=(None,))
Done = collections.namedtuple("Done", "what code out err seconds cut")


def first_error(done):
    """One line that says why a command failed."""
    if done.cut:
        return f"stopped after {done.seconds:.0f} s" if done.seconds else "no time was left"
    lines = [line.strip() for line in (done.out + "\n" + done.err).splitlines() if line.strip()]
    said = [line.strip() for line in done.err.splitlines() if line.strip()]
    for line in lines:
        if re.match(r"not ok|Bail out!|\S+: error: |==ERROR==|=+ (Error|Invalid|ERROR)", line):
            return line[:300]
    if done.code < 0:
        return f"ended by {signal.Signals(-done.code).name}" + (f": {said[-1][:200]}"
                                                                if said else "")
    if any(line.startswith("Traceback") for line in said):
        return said[-1][:300]
    return said[0][:300] if said else f"exit code {done.code} without a message"


class Running:
    """A command that runs in a group of its own, its output in two files."""

    def __init__(self, command, env, folder):
        self.command, self.began, self.process, self.seen = command, time.monotonic(), None, 0
        self.paths = [f"{folder}/{stream}-{id(command)}" for stream in ("out", "err")]
        with open(self.paths[0], "wb") as out, open(self.paths[1], "wb") as err:
            try:
                self.process = subprocess.Popen(
                    command.argv, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                    stderr=err, start_new_session=True)
            except OSError as e:
                err.write(f"{command.argv[0]}: {e.strerror}\n".encode())

    def seconds(self):
        return time.monotonic() - self.began

    def ended(self):
        return not self.process or self.process.poll() is not None

    def text(self, which):
        with open(self.paths[which], encoding="utf-8", errors="replace") as f:
            return f.read(4 << 20)

    def deliver(self):
        """Gives new whole lines to the command's sink."""
        lines = self.text(0).splitlines(True) if self.command.sink else []
        for line in lines[self.seen:]:
            if not line.endswith("\n"):
                break
            self.seen += 1
            self.command.sink(line)

    def finish(self, cut):
        """Ends the group; returns what was done."""
        if self.process:
            end_group(self.process, GRACE_S if cut else 0)
        self.deliver()
        code = self.process.returncode if self.process else 127
        code = -signal.SIGKILL if code is None else code
        done = Done(self.command.what, code, self.text(0), self.text(1), self.seconds(), cut)
        for path in self.paths:
            os.unlink(path)
        return done


class Runner:
    """Runs commands. What they leave behind becomes a child of this process and is ended, too."""

    def __init__(self, folder, results):
        self.folder, self.results, self.began = folder, results, time.monotonic()
        self.kept, self.env, self.deadline, self.log_left = [], {}, float("inf"), LOG_BYTES
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def now(self):
        return time.monotonic() - self.began

    def left(self):
        """Seconds until the phase ends."""
        return self.deadline - self.now()

    def start(self, command):
        return Running(command, {**os.environ, **self.env, **(command.env or {})}, self.folder)

    def finish(self, one, cut):
        done = one.finish(cut)
        text = (f"$ {' '.join(one.command.argv)}\n# {done.what}: exit code {done.code}, "
                f"{done.seconds:.1f} s{', stopped' if done.cut else ''}\n{done.out}{done.err}\n")
        text = text if len(text) < 65536 else text[:32768] + "\n...\n" + text[-32768:]
        if self.log_left > 0:
            self.log_left -= len(text)
            self.results.append_to("log.txt", text)
        return done

    def keep(self, argv):
        """Starts a command that runs until stop_kept."""
        try:
            self.kept.append(subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True))
        except OSError as e:
            self.results.failure("a background command", f"{argv[0]}: {e.strerror}")

    def stop_kept(self):
        for process in self.kept:
            end_group(process)
        self.kept = []

    def each(self, commands, parallel=1):
        """Runs the commands, at most `parallel` at a time, and yields what was done. Those for
        which no time is left are yielded as cut."""
        waiting, running = collections.deque(commands), []
        try:
            while waiting or running:
                while waiting and len(running) < parallel:
                    command = waiting.popleft()
                    if self.left() > GRACE_S:
                        running.append(self.start(command))
                    else:
                        yield Done(command.what, 0, "", "", 0, True)
                for one in list(running):
                    one.deliver()
                    late = one.seconds() > (one.command.limit or 1e9) or self.left() < GRACE_S
                    if one.ended() or late:
                        running.remove(one)
                        yield self.finish(one, not one.ended())
                time.sleep(0.02 if running else 0)
        finally:
            for one in running:
                self.finish(one, True)
            self.sweep()

    def one(self, command):
        return list(self.each([command]))[0]

    def run(self, what, argv, limit=None, env=None):
        return self.one(Command(what, argv, env, limit))

    def sweep(self):
        """Ends what a command left behind."""
        kept = {process.pid for process in self.kept}
        for _ in range(20):
            orphans = [pid for pid in children() if pid not in kept]
            for pid in orphans:
                signal_one(pid, signal.SIGKILL)
                reap(pid)
            if not orphans:
                return
            time.sleep(0.02)


def children():
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                after = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        if name.isdigit() and int(after[1]) == os.getpid():
            found.append(int(name))
    return found


def reap(pid):
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def signal_one(pid, number):
    """A negative pid is a group's."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def end_group(process, grace_s=0):
    """Ends the process and its group: first by SIGTERM, if there is a grace_s. A process that waits
    for its GPU may not end by SIGKILL either, and is left behind."""
    for number, seconds in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 5)):
        if seconds:
            signal_one(-process.pid, number)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                pass


class Results:
    """Lines of JSON in results.jsonl, written at once and printed. A folder that is full is
    reported once, and what is printed remains."""

    def __init__(self, folder, call):
        self.folder, self.call, self.phase, self.lines, self.full = folder, call, "", [], False

    def append_to(self, name, text, mode="a"):
        try:
            with open(f"{self.folder}/{name}", mode, encoding="utf-8") as f:
                f.write(text)
        except OSError as e:
            if not self.full:
                self.full = True
                self.failure("results",
                             f"{self.folder}/{name}: {e.strerror}; they are only printed")

    def add(self, kind, **values):
        line = {"call": self.call, "phase": self.phase, "kind": kind, **values}
        self.lines.append(line)
        text = json.dumps(line)
        print(text if len(text) < 400 else text[:400] + "...", flush=True)
        self.append_to("results.jsonl", text + "\n")

    def failure(self, what, error, **values):
        self.add("failure", what=what, error=error, **values)

    def failures_of(self, done):
        """Records a failure for each that did not succeed; returns whether there was none."""
        failed = [d for d in done if d.cut or d.code]
        for d in failed:
            self.failure(d.what, first_error(d), cut=d.cut, code=d.code)
        return not failed


def say(text):
    print(f"bench/gpu/visit: {text}", file=sys.stderr, flush=True)
