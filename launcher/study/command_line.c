/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/study/study.h"

#include "launcher/host/child.h"
#include "launcher/host/path.h"
#include "src/atomicfile.h"

/* Programs that start another program. Options are named without dashes at their front, and with _
 * instead of -. An option that is not listed has a value if the next word cannot be the program. */
static const struct command_starter {
    const char *names;  /* of the program, or of a module of Python */
    const char *verb;   /* the words of which one must follow, such as run */
    const char *values; /* options that have the next word as their value */
    int operands;       /* words before the program, such as an image */
    bool is_interpreter;
    struct command_launcher launcher; /* engine NULL: it is not one */
} starters[] = {
    /* launchers of ranks */
    {"torchrun torch.distributed.run torch.distributed.launch", NULL,
     "nnodes nproc_per_node node_rank rdzv_backend rdzv_endpoint rdzv_id rdzv_conf max_restarts "
     "monitor_interval start_method role log_dir r redirects t tee local_ranks_filter master_addr "
     "master_port local_addr logs_specs",
     .launcher = {.engine = "torchrun", .counts =
                  "nnodes nproc_per_node node_rank rdzv_backend rdzv_endpoint rdzv_id rdzv_conf "
                  "standalone master_addr master_port local_addr", .numbers =
                  "--nnodes=$UNETCTL_NODES --node_rank=$GROUP_RANK "
                  "--nproc_per_node=$LOCAL_WORLD_SIZE --master_addr=$MASTER_ADDR "
                  "--master_port=$MASTER_PORT"}},
    /* accelerate gives each node num_processes / num_machines ranks */
    {"accelerate accelerate-launch accelerate.commands.launch", "launch",
     "num_processes num_machines machine_rank main_process_ip main_process_port gpu_ids "
     "config_file mixed_precision num_cpu_threads_per_process dynamo_backend dynamo_mode "
     "rdzv_backend rdzv_conf max_restarts monitor_interval role log_dir t tee zero_stage "
     "offload_optimizer_device offload_param_device gradient_accumulation_steps gradient_clipping "
     "deepspeed_config_file deepspeed_hostfile deepspeed_multinode_launcher zero3_init_flag "
     "zero3_save_16bit_model fsdp_version fsdp_offload_params fsdp_min_num_params "
     "fsdp_sharding_strategy fsdp_auto_wrap_policy fsdp_transformer_layer_cls_to_wrap "
     "fsdp_backward_prefetch fsdp_state_dict_type fsdp_use_orig_params",
     .launcher = {"torchrun",
                  "num_processes num_machines machine_rank main_process_ip main_process_port "
                  "gpu_ids rdzv_backend rdzv_conf same_network multi_gpu",
                  "--num_machines=$UNETCTL_NODES --machine_rank=$GROUP_RANK "
                  "--num_processes=$((UNETCTL_NODES * LOCAL_WORLD_SIZE)) "
                  "--main_process_ip=$MASTER_ADDR --main_process_port=$MASTER_PORT",
                  /* without it, a node of one GPU starts a job of one rank, and the others wait */
                  .kinds = "use_deepspeed use_fsdp use_megatron_lm config_file", .several =
                  " $([ $WORLD_SIZE = 1 ] || [ -e "
                  "\"${HF_HOME:-$HOME/.cache/huggingface}/accelerate/default_config.yaml\" ] || "
                  "echo --multi_gpu)", .alone = "cpu tpu"}},
    {"deepspeed deepspeed.launcher.runner", NULL,
     "H hostfile i include e exclude num_nodes min_elastic_nodes max_elastic_nodes num_gpus "
     "num_accelerators node_rank master_port master_addr launcher launcher_args autotuning "
     "bind_core_list save_pid enable_each_rank_log ssh_port", .launcher = {.engine = "pytorch"}},
    {"colossalai", "run",
     "H host hostfile include exclude num_nodes nproc_per_node master_port master_addr extra_args "
     "ssh_port m", .launcher = {.engine = "pytorch"}},
    {"mpirun mpiexec mpiexec.hydra mpiexec.openmpi mpirun.openmpi mpiexec.mpich mpirun.mpich "
     "orterun prterun prun mpiexecjl", NULL,
     "np n c N H host hosts hostfile machinefile f ppn perhost npernode npersocket x genv env "
     "genvlist envlist wdir wd map_by bind_to rank_by mca pmixmca prtemca pmi launcher iface rf "
     "rankfile output output_filename timeout hosts_file tune am path cpu_set cpu_list",
     .launcher = {.engine = "mpi"}},
    {"srun", NULL,
     "n ntasks N nodes c cpus_per_task p partition A account q qos t time J job_name o output e "
     "error i input w nodelist x exclude G gpus gres gpus_per_node gpus_per_task gpus_per_socket "
     "ntasks_per_node ntasks_per_gpu ntasks_per_core ntasks_per_socket mem mem_per_cpu mem_per_gpu "
     "mem_bind cpu_bind gpu_bind mpi m distribution D chdir C constraint export jobid r relative "
     "K W wait L licenses threads_per_core hint tres_per_task network multi_prog",
     .launcher = {.engine = "mpi"}},
    {"aprun ibrun jsrun flux", NULL, "n N d S o a c g r p l b", .launcher = {.engine = "mpi"}},
    {"horovodrun", NULL,
     "np num_proc H hosts hostfile p ssh_port i network_interface start_timeout "
     "gloo_timeout_seconds min_np max_np cycle_time_ms fusion_threshold_mb log_level "
     "timeline_filename config_file mpi_args", .launcher = {.engine = "horovod"}},
    /* what only changes how the program runs */
    {"env", NULL, .values = "u unset C chdir"},
    {"nohup setsid catchsegv ddrun linux64", NULL, .values = ""},
    {"time", NULL, .values = "o output f format"},
    {"nice", NULL, .values = "n adjustment"},
    {"ionice", NULL, .values = "c class n classdata"},
    {"chrt", NULL, .values = "", .operands = 1},
    {"stdbuf", NULL, .values = "i o e"},
    {"timeout", NULL, .values = "s signal k kill_after", .operands = 1},
    {"taskset", NULL, .values = "", .operands = 1},
    {"numactl", NULL,
     .values = "N m C i p P w cpunodebind membind physcpubind interleave preferred localalloc"},
    {"conda mamba micromamba", "run", .values = "n name p prefix cwd"},
    {"uv", "run",
     .values = "p python with with_editable with_requirements project directory extra group "
               "only_group no_group env_file index default_index package config_file cache_dir"},
    {"poetry pipenv pdm hatch rye", "run", .values = ""},
    {"pixi", "run", .values = "e environment manifest_path"},
    {"apptainer singularity", "exec run",
     .values = "B bind env env_file pwd cwd H home o overlay S scratch W workdir mount net network "
               "network_args add_caps drop_caps security cpus memory", .operands = 1},
    {"podman docker", "run",
     .values = "v volume e env env_file w workdir name gpus device network net ipc shm_size u user "
               "userns uts entrypoint mount security_opt ulimit platform h hostname m memory cpus "
               "pull runtime cap_add cap_drop group_add p publish l label annotation pid",
     .operands = 1},
    {"ch-run", NULL, .values = "b bind c cd set_env unset_env", .operands = 1},
    {"shifter", NULL, .values = "image i V volume entrypoint workdir"},
    {"nsys", "profile",
     .values = "o output t trace f force_overwrite w show_output s sample c capture_range e "
               "env_var y delay d duration x stop_on_exit b backtrace n inherit_environment kill "
               "stats export gpu_metrics_device cpuctxsw cuda_memory_usage capture_range_end "
               "python_sampling pytorch sampling_frequency"},
    {"ncu", NULL,
     .values = "o export k kernel_name c launch_count s launch_skip set section metrics "
               "target_processes kernel_id replay_mode nvtx_include clock_control cache_control"},
    {"perf", "record", .values = "o output e event F freq c count g"},
    {"perf", "stat", .values = "o output e event r repeat"},
    {"strace ltrace", NULL, .values = "o e p s"},
    {"valgrind compute-sanitizer cuda-memcheck rocprof rocprofv3 scalene", NULL,
     .values = "o i tool"},
    /* interpreters: with -c or -e they have no script */
    {"python", NULL, "W X check_hash_based_pycs", .is_interpreter = true},
    {"bash sh zsh dash ksh", NULL, "o O rcfile init_file", .is_interpreter = true},
    {"julia", NULL, "p t C J L H threads sysimage load machine_file cpu_target",
     .is_interpreter = true},
    {"Rscript perl ruby node lua octave", NULL, "", .is_interpreter = true},
};

/* Writes the option's name, without leading dashes and with _ instead of -. Returns its length. */
static size_t option_name(const char *word, char dst[64])
{
    size_t n = 0;

    for (word += strspn(word, "-"); word[n] && word[n] != '=' && n < 63; n++)
        dst[n] = word[n] == '-' ? '_' : word[n];
    dst[n] = 0;
    return n;
}

static bool has_verb(const struct command_starter *s, const char *word)
{
    return s->verb && word && text_has_word(s->verb, word, strlen(word));
}

/* Returns the starter of this program or module, or NULL. python3.11 is python; accelerate-launch
 * has no verb. */
static const struct command_starter *find_starter(const char *word, const char *next)
{
    const char *name = filename_base(word);
    size_t n = strlen(name), m = strncmp(name, "pypy", 4) ? 6 : 4;

    if ((strncmp(name, "python", 6) == 0 || m == 4) && strspn(name + m, "0123456789.") + m == n)
        name = "python", n = 6;
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++)
        if (text_has_word(starters[i].names, name, n) &&
            (!starters[i].verb || strpbrk(name, "-.") || has_verb(&starters[i], next)))
            return &starters[i];
    return NULL;
}

static bool may_be_program(const char *word)
{
    char path[PATH_MAX];

    return path_is_file(word) || filename_ends(word, ".py") || find_starter(word, NULL) ||
           child_find(word, X_OK, path);
}

/* Returns the number of words of the option at words[i]: 1, 2 with a value, or 3, as "-mca NAME
 * VALUE" has. */
static size_t count_option(const struct command_starter *s, const char *const *words, size_t n,
                           size_t i)
{
    char name[64];
    size_t length = option_name(words[i], name);

    if (strchr(words[i], '=') || i + 1 >= n)
        return 1;
    if (i + 2 < n && s->launcher.engine && text_has_word("mca pmixmca prtemca genv", name, length))
        return 3;
    if (text_has_word(s->values, name, length))
        return 2;
    return !s->operands && i + 2 < n && *words[i + 1] != '-' && !may_be_program(words[i + 1]) ? 2
                                                                                            : 1;
}

/* Returns whether the next word is the program itself: behind -c, -e, or -lc of a shell, where -e
 * is another option. */
static bool has_text_behind(const char *option, bool is_shell)
{
    size_t n = strlen(option);

    return is_shell ? option[1] != '-' && option[n - 1] == 'c'
                    : n == 2 && strchr("ce", option[1]);
}

/* Returns the index behind the words of the starter at words[i], and notes a module. */
static size_t skip_starter(const struct command_starter *s, const char *const *words, size_t n,
                           size_t i, bool *is_module, bool *has_text)
{
    bool is_shell = text_has_word(s->names, "bash", 4);
    bool is_env = text_has_word(s->names, "env", 3), keeps = s->launcher.numbers;
    int operands = s->operands;

    bool runs_image = operands && i + 2 < n && strcmp(words[i + 1], "run") == 0;

    for (i += i + 1 < n && has_verb(s, words[i + 1]) ? 2 : 1; i < n; i++) {
        bool option = words[i][0] == '-' && words[i][1];
        if (strcmp(words[i], "--") == 0)
            return i + 1;
        if (option && (((s->is_interpreter || keeps) && strcmp(words[i], "-m") == 0) ||
                       (s->launcher.engine && strcmp(words[i], "--module") == 0))) {
            *is_module = true;
            if (s->is_interpreter)
                return i + 1;
        } else if (option && s->is_interpreter && has_text_behind(words[i], is_shell)) {
            *has_text = true;
            return i;
        } else if (option) {
            i += count_option(s, words, n, i) - 1;
        } else if (!(is_env && strchr(words[i], '=')) && operands-- <= 0) {
            return i;
        }
    }
    return runs_image ? n - 1 : n; /* the image has a program of its own */
}

static int note_launcher(struct command_line *c, const struct command_starter *s, size_t i,
                         size_t end, struct err *e)
{
    if (c->launcher)
        return err_set(e, ERR_CONFIG, "-- %s ... %s: two launchers of ranks; leave %s out, as "
                       "unetctl starts the ranks on each node itself",
                       filename_base(c->words[c->first]), filename_base(c->words[i]),
                       filename_base(c->words[c->first]));
    c->starter = s;
    c->launcher = &s->launcher;
    c->first = i;
    c->end = end;
    return 0;
}

int command_line_parse(const char *const *words, size_t n, struct command_line *dst, struct err *e)
{
    const struct command_starter *s;
    size_t i = 0;

    *dst = (struct command_line){.words = words, .n = n, .interpreter = n};
    while (i < n && (s = find_starter(words[i], i + 1 < n ? words[i + 1] : NULL))) {
        bool is_module = false, has_text = false;
        size_t at = i;
        i = skip_starter(s, words, n, i, &is_module, &has_text);
        if (s->launcher.engine && note_launcher(dst, s, at, i, e))
            return -1;
        if (s->is_interpreter) {
            dst->interpreter = at;
            /* python -m torch.distributed.run starts as torchrun does */
            const struct command_starter *own =
                is_module && i < n ? find_starter(words[i], NULL) : NULL;
            dst->is_python = text_has_word(s->names, "python", 6);
            dst->text = has_text && i + 1 < n && text_has_word(s->names, "bash", 4) ? words[i + 1]
                                                                                    : NULL;
            if (own && own->launcher.engine)
                continue;
        }
        dst->is_module = is_module;
        if (s->is_interpreter || is_module) {
            dst->has_script = i < n && !has_text;
            break;
        }
    }
    dst->program = i;
    bool of_script = dst->launcher && strcmp(dst->launcher->engine, "mpi") != 0;
    dst->has_script |= i < n && (of_script || filename_ends(words[i], ".py"));
    return 0;
}

int command_line_add_numbers(const struct command_line *c, struct buf *dst, struct err *e)
{
    const struct command_launcher *l =
        c->launcher && c->launcher->numbers ? c->launcher : &starters[0].launcher;
    bool is_told = !l->several;
    char name[64];

    for (size_t i = c->first; l == c->launcher && i < c->end; i++) {
        size_t n = option_name(c->words[i], name);
        if (l->alone && text_has_word(l->alone, name, n))
            return err_set(e, ERR_CONFIG, "%s ... %s starts one rank, and the others are waited "
                           "for until the time limit; leave it out, or use '--engine pytorch -- "
                           "python3 SCRIPT ARGS' with ACCELERATE_USE_CPU=true in pytorch.env",
                           filename_base(c->words[c->first]), c->words[i]);
        is_told |= l->kinds && text_has_word(l->kinds, name, n);
    }
    buf_addf(dst, " %s%s", l->numbers, is_told ? "" : l->several);
    return 0;
}

size_t command_line_count(const struct command_line *c, size_t i, bool *is_number)
{
    char name[64];
    size_t n = option_name(c->words[i], name);

    *is_number = c->launcher->counts && text_has_word(c->launcher->counts, name, n);
    return i > c->first && *c->words[i] == '-' ? count_option(c->starter, c->words, c->end, i) : 1;
}

/* ---- the file of the script ---- */

/* Finds a module in folders between colons. */
static bool find_module(const char *module, const char *folders, char dst[PATH_MAX])
{
    static const char *const ends[] = {".py", "/__main__.py"};
    char name[512];
    size_t n = 0;

    for (; n < sizeof name - 1 && module[n]; n++)
        name[n] = module[n] == '.' ? '/' : module[n];
    name[n] = 0;
    for (size_t m; folders && *folders; folders += m + (folders[m] == ':')) {
        m = strcspn(folders, ":");
        for (int i = 0; m && i < 2; i++)
            if (snprintf(dst, PATH_MAX, "%.*s/%s%s", (int)m, folders, name, ends[i]) < PATH_MAX &&
                path_is_file(dst))
                return true;
    }
    return false;
}

bool command_line_find(const struct command_line *c, const char *folders, char dst[PATH_MAX])
{
    char path[PATH_MAX];
    const char *word = c->program < c->n ? c->words[c->program] : "";

    if (c->is_module)
        return find_module(word, folders, path) && realpath(path, dst) != NULL;
    if (path_is_file(word))
        return realpath(word, dst) != NULL;
    return !c->has_script && child_find(word, X_OK, path) && realpath(path, dst) != NULL;
}

/* ---- words with quotes ---- */

size_t command_line_split(char *text, const char *words[], size_t max)
{
    size_t n = 0;

    while (n < max && *(text += strspn(text, " \t"))) {
        char *dst = text, quote = 0;
        words[n++] = text;
        for (; *text && (quote || !strchr(" \t", *text)); text++) {
            if (*text == quote)
                quote = 0;
            else if (!quote && strchr("'\"", *text))
                quote = *text;
            else
                *dst++ = *text == '\\' && quote != '\'' && text[1] ? *++text : *text;
        }
        text += *text != 0;
        *dst = 0;
    }
    return n;
}

/* ---- what a script says of its ranks ---- */

#define SCRIPT_MAX ((size_t)1 << 20)

/* What makes several ranks of a script, and the engine that starts them. */
static const struct {
    const char *text; /* in a line that imports, or anywhere for a name with a capital or a call */
    const char *engine;
} signs[] = {
    {"torch.distributed", "pytorch"}, {"init_process_group", "pytorch"},
    {"DistributedDataParallel", "pytorch"}, {"horovod", "horovod"},
    {"pytorch_lightning", "pytorch"}, {"lightning", "pytorch"}, {"accelerate", "pytorch"},
    {"deepspeed", "pytorch"}, {"composer", "pytorch"}, {"fairscale", "pytorch"},
    {"colossalai", "pytorch"}, {"Seq2SeqTrainer", "pytorch"}, {"TrainingArguments", "pytorch"},
    {"MultiWorkerMirroredStrategy", "tensorflow"}, {"jax.distributed", "jax"}, {"mpi4py", "mpi"},
};

/* Returns whether the line imports the module: import a, NAME.b as c; from NAME.b import d. */
static bool imports(const char *line, const char *name)
{
    bool from = strncmp(line, "from ", 5) == 0;
    size_t n = strlen(name);

    if (!from && strncmp(line, "import ", 7) != 0)
        return false;
    for (const char *p = line; (p = strstr(p, name)); p += n)
        if (strchr(" ,", p[-1]) && !isalnum((unsigned char)p[n]) && p[n] != '_')
            return true;
    return false;
}

static bool has_sign(const char *line, const char *sign)
{
    const char *at = strstr(line, sign);
    bool anywhere = strpbrk(sign, "._") || isupper((unsigned char)*sign);

    return imports(line, sign) ||
           (at && anywhere && (at == line || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')));
}

/* Notes a launcher of ranks that a command in a line of a shell script begins with, also behind
 * NAME=VALUE. */
static void look_at_command(const char *line, struct command_sign *dst)
{
    const struct command_starter *s = NULL;
    char words[3][64];
    int i = 0;

    for (const char *p = line; p; p = strpbrk(p, ";&|")) {
        p += strspn(p, ";&| \t");
        while (strcspn(p, "=") < strcspn(p, " \t'\"/"))
            p += strcspn(p, " \t"), p += strspn(p, " \t");
        words[0][0] = words[1][0] = words[2][0] = 0;
        sscanf(p, "%63s %63s %63s", words[0], words[1], words[2]);
        i = strcmp(words[0], "exec") == 0 || strcmp(words[0], "time") == 0;
        s = find_starter(words[i], words[i + 1]);
        if (s && s->launcher.engine) {
            snprintf(dst->text, sizeof dst->text, "%.39s", filename_base(words[i]));
            snprintf(dst->command, sizeof dst->command, "%.190s", strstr(p, words[i]));
            return;
        }
    }
}

bool command_line_look_text(const char *text, struct command_sign *dst)
{
    *dst = (struct command_sign){0};
    look_at_command(text, dst);
    return *dst->text;
}

/* Returns whether the line gives CUDA_VISIBLE_DEVICES a value. */
static bool sets_gpus(const char *line)
{
    const char *at = strstr(line, "CUDA_VISIBLE_DEVICES");

    if (!at || (at != line && strncmp(line, "export ", 7) != 0 && !strstr(line, "environ[")))
        return false;
    at += strlen("CUDA_VISIBLE_DEVICES");
    at += strspn(at, "\"'] ");
    return *at == '=' && at[1] != '=';
}

bool command_line_look(const char *script, struct command_sign *dst)
{
    struct err ignored;
    size_t n;
    char *text = path_is_file(script) ? atomicfile_read(script, SCRIPT_MAX, &n, &ignored) : NULL;

    *dst = (struct command_sign){0};
    bool is_shell = filename_ends(script, ".sh");
    size_t number = 1;

    for (char *p = text, *line; p; number++) {
        line = p;
        p = strchr(p, '\n');
        if (p)
            *p++ = 0;
        is_shell |= number == 1 && strncmp(line, "#!", 2) == 0 && !strstr(line, "python") &&
                    (strstr(line, "/sh") || strstr(line, "bash") || strstr(line, "zsh"));
        line += strspn(line, " \t");
        line[strcspn(line, "#")] = 0;
        if (sets_gpus(line) && !dst->gpus_line)
            dst->gpus_line = number;
        if (*dst->text)
            continue;
        dst->line = number;
        for (size_t i = 0; i < sizeof signs / sizeof *signs && !is_shell && !*dst->text; i++)
            if (has_sign(line, signs[i].text)) {
                snprintf(dst->text, sizeof dst->text, "%s", signs[i].text);
                dst->engine = signs[i].engine;
            }
        if (is_shell)
            look_at_command(line, dst);
    }
    free(text);
    return *dst->text;
}
