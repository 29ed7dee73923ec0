# What setup.sh stands for in the reference's submit_file.sh: who this rank is, as Slurm numbers
# them.
export RANK=${SLURM_PROCID:?not inside a Slurm job}
export LOCAL_RANK=${SLURM_LOCALID:?not inside a Slurm job}
export WORLD_SIZE=${SLURM_NTASKS:?not inside a Slurm job}
