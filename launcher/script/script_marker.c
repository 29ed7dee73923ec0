/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/script/script_marker.h"

#include <stddef.h>

static const struct script_marker markers[] = {
    {"directives", "submit_file.sh", "the #SBATCH lines of the job; lines of your own may replace "
                                     "it"},
    {"launcher", "submit_file.sh", "the site's command that starts several ranks; empty for one "
                                   "rank"},
    {"run_file", "submit_file.sh", "path of run_file.sh"},
    {"requeues", "", "how often the job may be requeued automatically (slurm.requeues)"},
    {"source", "", "keeps what a script is when the job starts; not for embedded"},
    {"finish", "submit_file.sh", "turns $code and log.csv into DONE or FAILED; not for embedded"},
    {"command", "run_file.sh", "the trainer or script with its arguments, as quoted words"},
    {"resume", "", "after trainer: the option that continues an earlier attempt, or empty"},
    {"resume_dir", "", "folder of the earlier attempt that is continued, or empty"},
    {"trainer", "", "embedded: path of unet-train, instead of command"},
    {"script", "", "other engines: path of the script, instead of command"},
    {"python", "", "other engines: interpreter of a Python script"},
    {"spec", "run_file.sh", "options of 'unetctl spec' on this site; required by embedded"},
    {"variables", "run_file.sh", "export lines of UNETCTL_ATTEMPT_DIR and so on; not for embedded"},
    {"energy", "", "in run_file.sh: measures the energy of the GPUs while the rank runs"},
    {"setup", "both", "shell lines of site and engine; required if there are any"},
    {"env", "both", "export lines of site and engine; likewise"},
    {"shell", "", "the site's shell for submit_file.sh: /bin/bash"},
    {"shell_setup", "", "zsh: the line that splits words as in other shells"},
    {"unetctl", "", "path of this program"},
    {"study", "", "name of the study"},
    {"study_dir", "", "folder of the study"},
    {"run", "", "id of the run, such as unet-g03-s1"},
    {"run_dir", "", "its folder"},
    {"engine", "", "what trains, such as pytorch or command (study.yaml: engine)"},
    {"attempt", "", "number of the attempt, from 1"},
    {"attempt_dir", "", "folder of the attempt, for log.csv"},
    {"seed", "", "seed of the run"},
    {"model", "", "model.name"},
    {"gpus", "", "GPUs of the run"},
    {"nodes", "", "nodes of the job"},
    {"tasks", "", "ranks of the job"},
    {"tasks_per_node", "", "ranks on each node; the last one may have fewer"},
    {"task_list", "", "ranks of each node in Slurm's notation, such as 2(x3),1"},
    {"gpus_per_node", "", "GPUs on each node; the last one may have fewer"},
    {"gpus_per_task", "", "GPUs of a rank"},
    {"cpus_per_task", "", "CPUs of a rank"},
    {"steps", "", "limit.steps"},
    {"minutes", "", "limit.minutes"},
    {"data_dir", "", "data.dir: images/ and masks/, or images of one class each"},
    {"split", "", "path of split.json"},
    {"epochs", "", "train.epochs"},
    {"batch_per_gpu", "", "images per step and GPU"},
    {"global_batch", "", "images per step over all GPUs"},
    {"lr", "", "train.lr, not scaled"},
    {"job_name", "", "the job's name, for #SBATCH lines of your own"},
    {"comment", "", "the job's comment, by which unetctl finds it again"},
    {"output", "", "the job's output file"},
    {"partition", "", "the job's partition, or empty"},
    {"account", "", "the job's account, or empty"},
    {"qos", "", "the job's QOS, or empty"},
    {"constraint", "", "the job's constraint, or empty"},
    {"time_min", "", "the time limit in minutes; 0 for none"},
    {"tag_program", "", "tag of the reference: the script"},
    {"tag_program1", "", "a program that prints TF_CONFIG"},
    {"tag_program2", "", "the script"},
    {"tag_epoch", "", "train.epochs"},
    {"tag_batch", "", "global batch"},
    {"tag_aug", "", "0; another value: markers: {tag_aug: 1} in study.yaml"},
    {"tag_task", "", "ranks and GPUs of each node"},
    {"tag_node", "", "nodes"},
    {"tag_command", "", "1 with MPI, on several nodes; 2 without"},
    {"setup.sh", "", "with tags: path of a script that sets RANK, LOCAL_RANK, WORLD_SIZE"},
    {NULL, NULL, NULL},
};

const struct script_marker *script_marker_all(void)
{
    return markers;
}
