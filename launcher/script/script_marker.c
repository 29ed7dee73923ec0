/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/script/script_marker.h"

#include <stddef.h>

static const struct script_marker markers[] = {
    {"directives", "submit_file.sh", "the #SBATCH lines of the job (or write lines of your own)"},
    {"launcher", "submit_file.sh", "the site's words that start several ranks; empty for one"},
    {"run_file", "submit_file.sh", "path of run_file.sh"},
    {"requeues", "", "times that the job may be started again by itself (slurm.requeues)"},
    {"finish", "submit_file.sh", "turns $code and log.csv into DONE or FAILED; not for embedded"},
    {"command", "run_file.sh", "the trainer or script with its arguments, as quoted words"},
    {"resume", "", "behind trainer: the option that continues an earlier attempt, or empty"},
    {"resume_dir", "", "the earlier attempt whose checkpoint/ is to be continued, or empty"},
    {"trainer", "", "embedded: path of unet-train (in place of command)"},
    {"script", "", "other engines: path of the script (in place of command)"},
    {"python", "", "other engines: what runs a Python script"},
    {"spec", "run_file.sh", "options of 'unetctl spec' on this site; embedded: must stand there"},
    {"variables", "run_file.sh", "export lines of UNETCTL_ATTEMPT_DIR and so on; not for embedded"},
    {"setup", "both", "the site's and the engine's shell lines; may be absent where there are "
     "none"},
    {"env", "both", "export lines of the site's and the engine's environment; likewise"},
    {"shell", "", "the site's shell for submit_file.sh: /bin/bash"},
    {"shell_setup", "", "zsh: the line that makes it split words as other shells do"},
    {"unetctl", "", "path of this program"},
    {"study", "", "name of the study"},
    {"study_dir", "", "its folder"},
    {"run", "", "id of the run, such as unet-g03-s1"},
    {"run_dir", "", "its folder"},
    {"engine", "", "embedded, tensorflow, horovod, pytorch or command"},
    {"attempt", "", "number of the attempt, from 1"},
    {"attempt_dir", "", "its folder: the place of log.csv"},
    {"seed", "", "seed of the run"},
    {"model", "", "model.name"},
    {"gpus", "", "GPUs of the run"},
    {"nodes", "", "nodes of the job"},
    {"tasks", "", "ranks of the job"},
    {"tasks_per_node", "", "ranks on the fullest node; the last one may have fewer"},
    {"task_list", "", "ranks of each node as Slurm writes them, such as 2(x3),1"},
    {"gpus_per_node", "", "GPUs on the fullest node"},
    {"gpus_per_task", "", "GPUs of a rank"},
    {"cpus_per_task", "", "CPUs of a rank"},
    {"data_dir", "", "data.dir: images/ and masks/, or images of one class each"},
    {"split", "", "path of split.json"},
    {"epochs", "", "train.epochs"},
    {"batch_per_gpu", "", "images of a step and GPU"},
    {"global_batch", "", "images of a step over all GPUs"},
    {"lr", "", "train.lr, not scaled"},
    {"job_name", "", "the job's name, for #SBATCH lines of your own"},
    {"comment", "", "the job's comment, by which unetctl finds it again"},
    {"output", "", "the job's output file"},
    {"partition", "", "as the site, the study and the command line have it; or empty"},
    {"account", "", "likewise"},
    {"qos", "", "likewise"},
    {"constraint", "", "likewise"},
    {"time_min", "", "the time limit in minutes; 0 for none"},
    {"tag_program", "", "the reference's tags: the script"},
    {"tag_program1", "", "a program that prints TF_CONFIG"},
    {"tag_program2", "", "the script"},
    {"tag_epoch", "", "train.epochs"},
    {"tag_batch", "", "global batch"},
    {"tag_aug", "", "0; another value: markers: {tag_aug: 1} in study.yaml"},
    {"tag_task", "", "ranks and GPUs of each node"},
    {"tag_node", "", "nodes"},
    {"tag_command", "", "1 with MPI, on several nodes; 2 without"},
    {"setup.sh", "", "beside tags: path of a script that sets RANK, LOCAL_RANK, WORLD_SIZE"},
    {NULL, NULL, NULL},
};

const struct script_marker *script_marker_all(void)
{
    return markers;
}
