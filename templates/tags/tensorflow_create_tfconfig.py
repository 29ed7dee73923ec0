"""What tag_program1 stands for in the reference's run_file.sh: prints TF_CONFIG.

The hosts come from Slurm's node list in Slurm's order of ranks; nothing is evaluated or sorted. The
words of UNETCTL_SPEC, if any, go to `unetctl spec`: the ports start at 23456 as the reference's do.
"""
import os
import shlex
import sys

words = shlex.split(os.environ.get("UNETCTL_SPEC", "--port-base 23456"))
try:
    os.execvp("unetctl", ["unetctl", "spec", *words])
except OSError as error:
    sys.exit(f"unetctl: {error.strerror}; put its folder on PATH in submit_file.sh")
