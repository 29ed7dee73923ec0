/* SPDX-License-Identifier: BSD-3-Clause */
/* A study: a folder with study.yaml, one training or program that is to run on several numbers of
 * GPUs. This room knows its files and what follows from them; it submits and reads nothing else.
 *
 * study.h: the settings of study.yaml, of the user and of the environment in one struct study; a
 * site, which is what differs between clusters; an engine, which is what trains; the command line
 * of a program. doc/FORMATS.md describes the keys.
 * plan.h: what a command asks for, as a value: the settings with those of variants and site, the
 * options of its jobs, and the runs. run.json is a run of it as text.
 * workspace.h: what is open while a command works: the plan, the ledger of submissions with its
 * lock, and the schedulers; and how the folder of a run is read.
 *
 * A plan says what should be, the ledger what was submitted, a run's folder what happened; which of
 * them decides is said in launcher/status/status.h. All verbs begin with workspace_open. Nothing
 * here logs, except of settings without effect.
 *
 * Read plan.h, then plan.c from plan_open on, ledger.c, run_dir.c. yaml_table.c reads any file that
 * has a table of settings. */
#pragma once

#include "src/base.h"

#include "launcher/study/yaml_table.h"
#include "src/cli.h"
#include "src/settings/settings.h"

#define STUDY_FILE "study.yaml"
/* in the user's folder of configuration (statedir_config_path) */
#define STUDY_USER_FILE "config.yaml"
#define VARIANT_NAME_SIZE 25

struct study {
    char *dir;  /* absolute, without symbolic links */
    char *file; /* dir/study.yaml */
    union {
        struct settings settings;
        struct { /* the members of struct settings */
#define TOP(name, type, ...) SETTING_MEMBER_##type name;
#define SECTION(name, ...) struct settings_##name name;
#define PROGRAM(name, help) struct settings_program name;
#include "src/settings/settings.def"
        };
    };
    /* the origin of each value, indexed by the row of settings_of_study */
    struct yaml_origins origins;
    const char *variant; /* the variant's name that these settings are of (plan.h); NULL: none */
    /* by row: it has an effect in the study as written, without the command line (settings.h) */
    bool has_effect[SETTINGS_MAX];
};

/* Files of runs have paths of up to this many bytes below the folder of a study. */
#define STUDY_BELOW_MAX 256

/* Checks that the path of a study's folder leaves room for them. Returns 0, or -1 with
 * ERR_CONFIG. */
int study_check_length(const char *dir, struct err *e);

/* Stores the absolute path of folder dir or, for NULL, of the nearest folder that has a study.yaml,
 * from the current one upwards. Returns 0, or -1 with ERR_CONFIG. */
int study_locate(const char *dir, char path[PATH_MAX], struct err *e);

/* Opens the study in folder dir; for NULL, the study of the current folder or of the nearest one
 * above that has a study.yaml. Values come from the presets, the user's file, study.yaml, the
 * environment, and settings (from the command line); later sources take precedence. Returns 0,
 * or -1 with ERR_CONFIG (ERR_USAGE for an error in the last two sources); then there is nothing
 * to close. */
int study_open(struct study *s, const char *dir, const struct yaml_setting *settings,
               size_t nsettings, struct err *e);
void study_close(struct study *s);

/* Makes an independent copy of src. Returns 0, or -1; then there is nothing to close. */
int study_copy(const struct study *src, struct study *dst, struct err *e);

/* Returns where a key was set: FILE:LINE, the variable, the option, or "built-in" for a preset;
 * for a path that is not a key, the file. */
const char *study_place(const struct study *s, const char *path);

/* Return the number of filters of the first level, and the number of poolings: those of the study
 * or, if it has 0, the model's own. Both return 0 if a model's file has to be read for that, or if
 * the model has no such number. */
int study_base(const struct study *s);
int study_depth(const struct study *s);

/* Returns the number of which height and width must be a multiple with this model and depth (0:
 * the model's own), or 1 if that is unknown. */
int study_sides(const char *model, int depth);

/* Opens only the presets and the user's file, for `unetctl init`. Returns 0, or -1 as
 * study_open. */
int study_open_user(struct study *s, struct err *e);

/* Decodes the words KEY=VALUE of --set to settings that point into them; the '=' becomes a NUL.
 * dst has room for all. Returns 0, or -1 with ERR_USAGE. */
int study_decode_set(const struct cli_list *set, struct yaml_setting *dst, struct err *e);

/* Returns the largest number of a list of GPU counts. */
int study_most_gpus(const char *gpus);

/* Returns whether the study trains on images, as unet-train and the scripts of unetctl do. Programs
 * of the user's do if it names data.dir. */
bool study_has_images(const struct study *s);

/* Returns whether the study runs unet-train or a training script of unetctl, and not a program of
 * the user's. */
bool study_runs_trainer(const struct study *s);

/* Returns whether the study, the environment or the command line sets this key. */
bool study_sets(const struct study *s, const char *path);

/* Returns whether this key is in force. In a study without images, keys of the trainer
 * (setting_is_of_trainer) are in force only if the study, the environment or the command line sets
 * them. */
bool study_has(const struct study *s, const char *path);

/* Returns the section of an engine, or NULL for the embedded one. */
const struct settings_program *study_engine(const struct study *s, const char *engine);

/* Site profiles describe the differences between clusters. They are templates/sites/NAME.yaml or
 * files of the user's; doc/SETTINGS.md lists the keys. */
struct site {
    char *name, *file;
    const char *scheduler; /* "slurm" or "local" */
    bool sandbox;          /* the site is the Slurm of `unetctl sandbox` */
    int gpus_per_node;    /* 0: a node has as many as a run needs */
    int max_in_flight;    /* local: the most jobs at a time */
    char *licenses;       /* slurm: the licenses that each job requests */
    int port_base, port_count; /* the range of ports, of which the job's number selects those of
                                * its ranks; port_base 0: the preset of unetctl spec */
    int poll_s;           /* the most seconds between two polls of the scheduler by watch */
    /* shell words that start several ranks; markers such as {{tasks}} are replaced */
    char *launcher;
    char *spec;        /* shell words after `unetctl spec`, with the same replacements */
    char *trainer;     /* program to run instead of unet-train, or "" */
    char *templates;   /* folder of the site's job templates, or "" */
    char *container;   /* the image that programs run in, or "" */
    const char *container_runtime; /* what starts it */
    char *shell;       /* the shell that runs submit_file.sh */
    const char *gpu_request; /* by the word of enum job_gpus */
    char *gpu_type;    /* such as v100, or "" */
    char *billing;     /* the formula of what an hour of a job costs, or "" */
    char *host_suffix; /* appended to each host's name in the cluster spec */
    struct setting_lines setup; /* lines of shell, such as "module load" */
    struct setting_lines env;   /* lines NAME=VALUE */
    struct settings_slurm slurm;
    struct yaml_origins origins; /* indexed by the row of site_keys */
};

/* launcher and spec of sites whose srun has no PMIx. The node list is $SLURM_NODELIST because
 * Open MPI 6 changes SLURM_JOB_NODELIST for ranks on other nodes. */
#define SITE_MPIRUN_LAUNCHER "mpirun --bind-to none -np {{tasks}}"
#define SITE_MPIRUN_SPEC                                                                        \
    "--nodelist \"$SLURM_NODELIST\" --tasks-per-node {{task_list|sh}} "                         \
    "--rank \"${OMPI_COMM_WORLD_RANK:-0}\""

extern const struct setting site_keys[];

/* Opens the profile of this name; a name with a slash is the path of a file. Returns 0, or -1
 * with ERR_CONFIG, which for an unknown name lists the known ones; then there is nothing to
 * close. */
int site_open(struct site *s, const char *name, struct err *e);
void site_close(struct site *s);

/* Returns whether the site says that its GPUs are fake, or not NVIDIA's. */
bool site_has_fake_gpus(const struct site *s);
bool site_has_foreign_gpus(const struct site *s);

/* Lists the names of the profiles that come with unetctl, sorted. Returns 0 or -1; the caller
 * clears the list in either case. */
int site_names(struct setting_lines *names, struct err *e);

/* The engines that train a run. The embedded one is unet-train; any other runs a script, the
 * user's or one that comes with unetctl, that writes log.csv (doc/FORMATS.md, "Engines"). */
struct engine {
    /* also, unless it is embedded, its section in study.yaml, the label of its runs
     * (RUN_ID_FORMAT), and the folder in templates/ of a run_file.sh of its own, if it has one */
    const char *name;
    bool embedded;
    /* needs one process per GPU; the strategy "mirrored", one process for all, is refused */
    bool rank_per_gpu;
    bool always_launched; /* the site's launcher starts even a single rank */
    /* a rank sees all GPUs of its run on the node, as programs that use device LOCAL_RANK expect;
     * otherwise only its own */
    bool sees_node;
    /* the python of the engine's section runs the script; otherwise the script is a program */
    bool is_python;
    /* its python starts the ranks of a node, once per node, by a launcher such as torchrun */
    bool by_launcher;
    /* the script that comes with unetctl, relative to the folder of unetctl's own data files
     * (paths_data), the default of the study's; NULL: none */
    const char *script;
};

/* Returns the engine of this name, or NULL with ERR_CONFIG that lists the known ones. */
const struct engine *engine_find(const char *name, struct err *e);

/* Command lines of programs: wrappers (env, apptainer exec, nsys profile), a launcher of ranks
 * (mpirun, torchrun), an interpreter, and the script or program, each of which may be missing. */
struct command_launcher {
    const char *engine;  /* the engine that starts the ranks instead, or by this launcher */
    const char *counts;  /* options that unetctl sets itself; NULL: the launcher is left out */
    const char *numbers; /* their values, as words of run_file.sh; NULL where counts is */
    const char *several; /* a word that is added unless one of the options `kinds` is given */
    const char *kinds;
    const char *alone;   /* with these options it starts one rank only; NULL: none */
};

struct command_line {
    const char *const *words; /* borrowed */
    size_t n;
    const struct command_launcher *launcher; /* NULL: none */
    const struct command_starter *starter;   /* the same, with its options (command_line.c) */
    size_t first, end;  /* its words: from its name up to what it starts */
    size_t interpreter; /* its index, or n */
    size_t program;     /* the index of the script, or of the program; n: none */
    bool is_python;     /* of the interpreter */
    bool has_script;    /* words[program] is a script, or with is_module the name of a module */
    bool is_module;
    const char *text; /* what a shell runs behind -c, or NULL */
};

/* Finds them by a table of programs. Returns 0, or -1 with ERR_CONFIG: there are two launchers. */
int command_line_parse(const char *const *words, size_t n, struct command_line *dst, struct err *e);

/* Adds the launcher's `numbers`, or torchrun's if they are NULL. Returns 0, or -1 with ERR_CONFIG:
 * an option lets it start one rank only. */
int command_line_add_numbers(const struct command_line *c, struct buf *dst, struct err *e);

/* Returns the number of the launcher's words from words[i] on that belong together: an option with
 * its values, or 1. Sets *is_number to whether it is an option that unetctl sets itself. */
size_t command_line_count(const struct command_line *c, size_t i, bool *is_number);

/* Finds the file of the script, of the module (in folders between colons), or of the program.
 * Returns false if there is none. */
bool command_line_find(const struct command_line *c, const char *folders, char dst[PATH_MAX]);

/* Splits text in place at blanks outside of quotes, as a shell does. Returns the number of words,
 * at most max. */
#define COMMAND_WORDS_MAX 256
size_t command_line_split(char *text, const char *words[], size_t max);

/* A name in a script that only serves several ranks, such as torch.distributed, or in a shell
 * script the launcher that a line begins with; text "": none. */
struct command_sign {
    char text[40];
    const char *engine; /* NULL: a launcher */
    size_t line;
    char command[200]; /* of a launcher: the line from it on */
    size_t gpus_line;  /* the line that sets CUDA_VISIBLE_DEVICES; 0: none */
};
bool command_line_look(const char *script, struct command_sign *dst);

/* The same of a shell's text, for a launcher alone. */
bool command_line_look_text(const char *text, struct command_sign *dst);
