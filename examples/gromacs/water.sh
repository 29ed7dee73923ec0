#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes water.tpr, a box of water (SPC, 2.5 nm) with 0.002 ps per step, from what comes with GROMACS.
set -eu
cd "$(dirname "$0")"
printf '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spc.itp"\n[system]\nwater\n[molecules]\n' >water.top
printf '%s\n' 'integrator = md' 'dt = 0.002' 'nsteps = -1' 'rcoulomb = 0.9' 'rvdw = 0.9' 'coulombtype = PME' \
    'tcoupl = v-rescale' 'tc-grps = System' 'tau-t = 0.1' 'ref-t = 300' 'gen-vel = yes' 'gen-temp = 300' 'gen-seed = 1' >water.mdp
gmx -quiet solvate -cs spc216 -box 2.5 -o water.gro -p water.top
gmx -quiet grompp -f water.mdp -c water.gro -p water.top -o water.tpr -po water.out.mdp
rm -f water.gro water.top water.mdp water.out.mdp ./#*#
