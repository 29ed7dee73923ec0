"""What tag_program1 stands for in the reference's run_file.sh: prints TF_CONFIG.

The hosts come from Slurm's node list in Slurm's order of ranks; nothing is evaluated or sorted. The
words of UNETCTL_SPEC, if any, go to `unetctl spec`: the ports start at 23456 as the reference's do.
"""
import os
import shlex
import sys
from pathlib import Path

words = shlex.split(os.environ.get("UNETCTL_SPEC", "--port-base 23456"))
here = Path(__file__).resolve().parent
# On PATH, where it was built, or where it is installed: share/unetctl/templates/tags.
for program in ("unetctl", here / "../../unetctl", here / "../../../../bin/unetctl"):
    try:
        os.execvp(program, ["unetctl", "spec", *words])
    except OSError:
        continue
sys.exit("unetctl is not on PATH: export it in submit_file.sh")
