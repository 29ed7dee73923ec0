/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train train: executes one run, from its configuration to the marker DONE or FAILED, or to a
 * checkpoint if it is asked to stop. */
#include "src/base.h"

#include <math.h>
#include <signal.h>

#include "src/clock.h"
#include "src/files.h"
#include "src/run/marker.h"
#include "src/settings/settings.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/cmd/cmd.h"
#include "trainer/data/set/dataset.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/models/model.h"
#include "trainer/run/ranks/ranks.h"
#include "trainer/run/run_log.h"
#include "trainer/run/session.h"
#include "trainer/run/setup.h"

/* Options that set one key of the run; the values are texts. */
enum { OPT_DATA, OPT_MODEL, OPT_CHANNELS, OPT_EPOCHS, OPT_BATCH_SIZE, OPT_LR, OPT_SEED, OPT_BACKEND,
       OPT_DTYPE, OPT_THREADS, NKEYED };
static struct {
    const char *keyed[NKEYED];
    const char *run, *out, *resume, *size, *strategy;
    struct cli_list set;
    long gpus;
    bool bandwidth;
} given = {.strategy = "auto"};
static const struct { const char *option, *key; } keys[NKEYED] = {
    [OPT_DATA] = {"data", "data.dir"},
    [OPT_MODEL] = {"model", "model.name"},
    [OPT_CHANNELS] = {"channels", "data.channels"},
    [OPT_EPOCHS] = {"epochs", "train.epochs"},
    [OPT_BATCH_SIZE] = {"batch-size", "train.batch_per_gpu"},
    [OPT_LR] = {"lr", "train.lr"},
    [OPT_SEED] = {"seed", "seed"},
    [OPT_BACKEND] = {"backend", "train.backend"},
    [OPT_DTYPE] = {"dtype", "train.dtype"},
    [OPT_THREADS] = {"threads", "train.threads"},
};

static const struct cli_option options[] = {
    {"run", 0, CLI_STRING, "FILE",
     "run.json of the run, unless --out has one; of the options below --resume only --data may be "
     "used with it, for a copy of the data",
     &given.run, 0, 0},
    {"out", 'o', CLI_STRING, "DIR",
     "folder for the results, made if needed; an interrupted run there continues", &given.out, 0, 0},
    {"resume", 0, CLI_STRING, "DIR",
     "results of a run, done or not, whose newest checkpoint this one continues from", &given.resume,
     0, 0},
    {"set", 0, CLI_LIST, "KEY=VALUE", "any setting of the list below, such as train.loss=dice",
     &given.set, 0, 0},
    {"data", 'd', CLI_STRING, "DIR",
     "data folder: images/ and masks/ with equal names; class folders, CIFAR-10, idx or TFRecord",
     &given.keyed[OPT_DATA], 0, 0},
    {"model", 0, CLI_STRING, "NAME",
     "unet, unet-resnet18 or 34, nnunet, fcnn; for whole images chips or resnet18 ... 110; a FILE.yaml "
     "of your own (unet)",
     &given.keyed[OPT_MODEL], 0, 0},
    {"size", 's', CLI_STRING, "HxW",
     "size that images are resized to, with their aspect kept, and padded", &given.size, 0, 0},
    {"channels", 0, CLI_STRING, "N",
     "channels: 1 grey, 3 RGB, or the number that the images have (1)", &given.keyed[OPT_CHANNELS], 0, 0},
    {"epochs", 'e', CLI_STRING, "N", "number of epochs (200)", &given.keyed[OPT_EPOCHS], 0, 0},
    {"batch-size", 'b', CLI_STRING, "N",
     "images per GPU and step (16 over all GPUs: train.global_batch)", &given.keyed[OPT_BATCH_SIZE], 0,
     0},
    {"lr", 0, CLI_STRING, "RATE", "learning rate of one GPU (0.001)", &given.keyed[OPT_LR], 0, 0},
    {"seed", 0, CLI_STRING, "N", "random seed of weights and shuffling (1)", &given.keyed[OPT_SEED], 0,
     0},
    {"gpus", 'g', CLI_INT, "N", "number of devices (that of the launched tasks, else 1)", &given.gpus,
     1, 100000},
    {"strategy", 0, CLI_STRING, "WORD",
     "mirrored | multi-worker | auto: multi-worker under an MPI launcher (auto)", &given.strategy, 0,
     0},
    OPTIONS_BACKEND(given.keyed[OPT_BACKEND]),
    OPTIONS_DTYPE(given.keyed[OPT_DTYPE]),
    {"threads", 't', CLI_STRING, "N", "threads per device; 0: the cores of the allocation (0)",
     &given.keyed[OPT_THREADS], 0, 0},
    {"bandwidth", 0, CLI_FLAG, NULL,
     "measure what connects the ranks instead, to OUT/bandwidth.json", &given.bandwidth, 0, 0},
    {0}};

static const char details[] =
    "Trains a U-Net on images and masks, or a residual network that classifies whole images,\n"
    "evaluates it, and writes record.jsonl, log.csv, checkpoint/, and DONE or FAILED to DIR. A\n"
    "run is described by run.json, which `unetctl generate` writes, or by options:\n"
    "  unet-train train --data DATA --size 96x128 --epochs 20 --batch-size 4 --out RUN\n"
    "  unet-train train --data CIFAR --model resnet44 --size 32x32 --channels 3 --out RUN\n"
    "  mpirun -np 4 unet-train train --data DATA --size 96x128 --out RUN4\n"
    "\n"
    "With --gpus N it starts N processes on this node, each with a GPU, or a share of the cores.\n"
    "Tasks on several nodes must be started by mpirun or srun; with run.json, TF_CONFIG gives\n"
    "each its rank. A run does not start when these sources disagree (exit code 5).\n"
    "\n"
    "--backend auto uses the GPUs of this process, or the CPU if it has none. A process that was\n"
    "given GPUs by Slurm or CUDA_VISIBLE_DEVICES but cannot use them ends with the reason and\n"
    "exit code 5; --backend cpu uses the CPU. The first line of output reports the choice.\n"
    "\n"
    "SIGTERM, SIGUSR1 or Ctrl-C: the ranks finish their step, rank 0 writes a checkpoint, all\n"
    "leave with exit code 75 (130 after Ctrl-C) and no marker; a second Ctrl-C ends them at\n"
    "once, a second SIGTERM if it comes 2 s later. The same command continues from there.\n"
    "--resume continues in another folder, optionally with another --gpus or batch, with more\n"
    "--epochs for a run that is done (a schedule by share of the epochs follows), and with\n"
    "other --lr, train.lr_*, train.warmup*, train.eval_epochs, train.until or train.patience:\n"
    "\n"
    "  unet-train train --data DATA --size 96x128 --epochs 300 --resume RUN --out RUN-again\n"
    "\n"
    "With the same settings the result is that of a run without interruption, to the last bit.\n"
    "With another number of GPUs batch and rate follow it; train.global_batch (batch-size of RUN\n"
    "times its K GPUs) and train.rate_gpus K keep those of RUN. A checkpoint of another network,\n"
    "data set or training is refused, and so is --resume without one (exit code 9).\n";

/* Sets the number of tasks and devices by --gpus and --strategy. */
static int set_layout(struct settings *c, struct err *e)
{
    int launched = rank_identity_launched_tasks();
    bool many;

    c->layout.gpus = given.gpus ? (int)given.gpus : launched;
    if (strcmp(given.strategy, "auto") == 0)
        many = launched > 1;
    else if (strcmp(given.strategy, "multi-worker") == 0)
        many = true;
    else if (strcmp(given.strategy, "mirrored") == 0)
        many = false;
    else
        return err_set(e, ERR_USAGE, "train: --strategy %s: must be auto, mirrored or multi-worker",
                       given.strategy);
    c->layout.nodes = 1;
    c->layout.tasks = c->layout.tasks_per_node = many ? c->layout.gpus : 1;
    c->layout.gpus_per_task = many ? 1 : c->layout.gpus;
    return run_config_set(c, "layout.strategy", many ? "multi-worker" : "mirrored", e);
}

static bool is_set(const char *key)
{
    size_t n = strlen(key);

    for (size_t i = 0; i < given.set.count; i++)
        if (strncmp(given.set.values[i], key, n) == 0 && given.set.values[i][n] == '=')
            return true;
    return false;
}

/* Refuses a value of --set that has no effect in this run; in one that continues it warns. */
static int check_effects(const struct settings *c, struct err *e)
{
    char own[PATH_MAX];

    snprintf(own, sizeof own, "%s/checkpoint", given.out);
    bool begun = given.resume || snapshot_exists(own);
    for (const struct setting *s = settings_of_run; s->path; s++) {
        if (!is_set(s->path) || need_check(settings_of_run, s, c, c->layout.gpus, e) == 0)
            continue;
        err_prefix(e, "train: --set");
        if (!begun)
            return -1;
        log_warn("%s", e->text);
    }
    return 0;
}

/* Configures a run without run.json. If no batch is given, the preset of train.global_batch
 * applies. */
static int configure_by_hand(struct settings *c, struct err *e)
{
    const char *batch = setting_find(settings_of_run, "train.global_batch")->preset;

    if (!given.keyed[OPT_DATA] || (!given.size && !is_set("data.patch")))
        return err_set(e, ERR_USAGE, "train: --run FILE is needed, or --data DIR and --size HxW "
                       "(see train --help)");
    if (given.size && options_size(given.size, &c->data.height, &c->data.width, e))
        return err_prefix(e, "train");
    c->train.global_batch = 0;
    for (int i = 0; i < NKEYED; i++)
        if (given.keyed[i] && run_config_set(c, keys[i].key, given.keyed[i], e))
            return err_prefix(e, "train: --%s", keys[i].option);
    if (run_config_set_words(c, &given.set, e))
        return err_prefix(e, "train");
    if (settings_take_patch(c) && (given.size || is_set("data.height") || is_set("data.width")))
        return err_set(e, ERR_USAGE, "train: --size, data.height and data.width have no effect "
                       "beside data.patch: %s, whose sides stand in their place; leave them out",
                       c->data.patch);
    if (!is_set("train.dice_weights"))
        c->train.dice_weights = settings_dice_weights(c);
    if (!c->train.batch_per_gpu && !c->train.global_batch &&
        run_config_set(c, "train.global_batch", batch, e))
        return -1;
    return set_layout(c, e) || run_config_check(c, e) || check_effects(c, e) ? -1 : 0;
}

/* Returns the run.json to use: an attempt with another number of GPUs than planned has its own in
 * --out. */
static const char *choose_plan(char own[PATH_MAX])
{
    snprintf(own, PATH_MAX, "%s/run.json", given.out);
    return access(own, F_OK) == 0 ? own : given.run;
}

static int configure_run(struct settings *c, struct err *e)
{
    char own[PATH_MAX];

    if (run_config_init(c, e))
        return -1;
    if (!given.out)
        return err_set(e, ERR_USAGE, "train: --out DIR, the folder for the results, is needed");
    files_own(given.out);
    if (given.resume)
        files_own(given.resume);
    if (!given.run)
        return configure_by_hand(c, e);
    for (int i = 0; i < NKEYED; i++)
        if (given.keyed[i] && i != OPT_DATA)
            return err_set(e, ERR_USAGE, "train: --%s cannot be used with --run, whose file has "
                           "this setting; edit %s or leave --run out", keys[i].option, given.run);
    if (given.size || given.gpus || given.set.count)
        return err_set(e, ERR_USAGE,
                       "train: --%s cannot be used with --run, whose file has this setting",
                       given.size   ? "size"
                       : given.gpus ? "gpus"
                                  : "set");
    return run_config_read(c, choose_plan(own), e);
}

static void complete_model(struct settings *c)
{
    const struct model *model = model_find(c->model.name);

    if (c->model.base == 0)
        c->model.base = model->base;
    if (c->model.depth == 0)
        c->model.depth = model->depth;
}

/* Refuses the split of another fold, of which a score would count images of this training. */
static int check_fold(const struct settings *c, struct err *e)
{
    struct split *s = split_read(c->data.split, e);
    int folds = s ? s->folds : 0, fold = s ? s->fold : 0;

    split_destroy(s);
    return !s ? -1 : folds == c->data.folds && fold == c->data.fold ? 0
        : err_set(e, ERR_CONFIG, "data.split: %s has fold %d of %d, but data.fold is %d and data.folds "
                  "%d; make it with 'unet-train data split --folds %d --fold %d'", c->data.split, fold,
                  folds, c->data.fold, c->data.folds, c->data.folds, c->data.fold);
}

/* If data.split is not set, rank 0 writes a split to the results folder, which then is the one of
 * all ranks. */
static int make_split(struct settings *c, struct comm *comm, struct err *e)
{
    struct source_folders folders = options_folders(c);
    struct split_config config = {.dir = c->data.dir, .folders = &folders,
                                  .seed = c->data.split_seed,
                                  .val_fraction = c->data.val_fraction,
                                  .folds = c->data.folds, .fold = c->data.fold,
                                  .group = c->data.group, .masks = options_masks(c)};
    char path[PATH_MAX];

    if (*c->data.split)
        return c->data.folds ? check_fold(c, e) : 0;
    snprintf(path, sizeof path, "%s/split.json", given.out);
    if (run_config_set(c, "data.split", path, e))
        return -1;
    if (comm->rank == 0) {
        struct split *split = split_create(&config, e);
        if (!split)
            return -1;
        int rc = split_write(split, path, e);
        split_destroy(split);
        if (rc)
            return rc;
    }
    return comm->ops->barrier(comm, e);
}

/* State of this process from before the ranks are connected. */
struct process_state {
    double process_start;
    const struct local_ranks *local; /* of forked ranks, else NULL */
    struct run_log *log;     /* on rank 0; NULL elsewhere */
    bool again;              /* set by run_log_open: the folder has results of an interrupted run */
    struct err log_refused;  /* why rank 0 has no record; reported to all ranks later */
    struct compute compute;
    struct membership membership;
};

bool cmd_train_leaves_device;

/* Returns whether work on the GPU of a rank that has failed may wait for other ranks for ever. Such
 * a process frees nothing that the GPU may use. */
static bool leaves_device(const struct comm *c, int rc)
{
    return rc < 0 && c->ops->queue_sum;
}

static int run_session(const struct session_config *config, struct err *e)
{
    struct comm *c = config->comm;
    struct session *session = session_create(config, e);
    int rc = session ? session_run(session, e) : -1;

    if (leaves_device(c, rc))
        session_abandon(session);
    else
        session_destroy(session);
    return rc;
}

/* Resolves train.dtype auto, the same on all ranks: to tf32 if the GPU of each has it. */
static int choose_dtype(struct settings *c, const struct compute *compute, struct comm *comm,
                        struct err *e)
{
    bool automatic = strcmp(c->train.dtype, "auto") == 0;
    double lacks = !compute->tf32;

    c->train.dtype = compute_dtype(compute, c->train.dtype);
    if (!automatic || comm_max_double(comm, &lacks, 1, e))
        return automatic ? -1 : 0;
    if (lacks > 0 && compute->tf32) {
        c->train.dtype = "f32";
        log_info("train.dtype auto is f32: the GPU of another rank does not have tf32");
    }
    return 0;
}

static int measure_bandwidth(struct comm *comm, const struct process_state *start, struct err *e)
{
    static const char done[] = "{\"schema\":1}\n";

    if (bandwidth_measure(comm, &start->membership.device, given.out, e))
        return -1;
    return start->log ? marker_write(given.out, "DONE", done, sizeof done - 1, e) : 0;
}

/* Opens the data and trains this rank. Returns 0, 1 if all ranks have left at a checkpoint, or
 * -1. */
static int run_rank(struct settings *c, const struct rank_identity *self, struct comm *comm,
                    const struct process_state *start, struct err *e)
{
    if (choose_dtype(c, &start->compute, comm, e) || make_split(c, comm, e))
        return -1;
    struct dataset_config data = {
        .workers = strcmp(c->data.files, "workers") == 0 ? c->layout.gpus : 0,
        .split_file = c->data.split,
        .dir = given.run && given.keyed[OPT_DATA] ? given.keyed[OPT_DATA] /* its copy */
                                                  : c->data.dir,
        .height = c->data.height,
        .width = c->data.width, .native = *c->data.patch != 0, .channels = c->data.channels,
        .masks = options_masks(c), .scale = options_scale(c), .cache = c->data.cache,
        .sharers = c->layout.tasks_per_node * c->layout.gpus_per_task,
        .threads = self->threads, .interrupt = &shutdown_any};
    struct dataset *dataset = dataset_open_split(&data, e);
    if (!dataset || evaluate_check_targets(c->model.name, dataset, &c->data.classes, e)) {
        dataset_close(dataset);
        return -1;
    }
    struct session_config config = {
        .config = c, .dataset = dataset, .comm = comm, .log = start->log,
        .compute = &start->compute, .threads = self->threads,
        .device = rank_identity_local_rank(), .host = self->host,
        .process_start = start->process_start,
        .interrupt = &shutdown_signal, .request = &shutdown_request,
        .resume = {.attempt = given.resume, .again = start->again}, .out = given.out};
    int rc = run_session(&config, e);
    if (!leaves_device(comm, rc)) /* threads of the session still read it */
        dataset_close(dataset);
    return rc;
}

#define END_S 60.0 /* for forked ranks to end after one has failed */

static int set_left(struct err *e)
{
    return err_set(e, ERR_RESUMABLE,
                   "stopped by a signal; the same command continues from the newest checkpoint");
}

/* Refuses --resume, before any file is written, if neither its folder nor that of --out has a
 * checkpoint. */
static int check_resume(struct err *e)
{
    char own[PATH_MAX], other[PATH_MAX];

    snprintf(own, sizeof own, "%s/checkpoint", given.out);
    snprintf(other, sizeof other, "%s/checkpoint", given.resume ? given.resume : "");
    if (!given.resume || snapshot_exists(own) || snapshot_exists(other))
        return 0;
    return err_set(e, ERR_CHECKPOINT,
                   "train: --resume %s: this folder has no checkpoint/state-* to continue from; "
                   "name the folder of a run that has one, or leave --resume out to start at the beginning",
                   given.resume);
}

/* Called by the thread of the lifeline (the connections that detect lost ranks) when a rank is
 * lost. Launchers kill all ranks soon after one has died, so the marker is written at once. After a
 * request to stop, killed ranks have not failed. */
static void mark_lost(void *arg, const char *host, const struct err *e)
{
    const struct process_state *start = arg;

    if (!start->log || shutdown_any)
        return;
    if (host)
        run_log_bad_node(start->log, host);
    run_log_failed(start->log, e);
}

static void leave_device(struct membership *k)
{
    cmd_train_leaves_device = k->device.device != NULL;
    k->device = (struct device_comm){0};
}

/* Connects the ranks and trains. From here on, a rank that fails must end the others, and rank 0
 * writes the marker. */
static int run_connected(struct settings *c, struct process_state *start, bool *relayed,
                         struct err *e)
{
    struct membership *k = &start->membership;
    const struct rank_identity *self = &k->identity;
    struct comm *comm = membership_connect(k, c, e);
    bool lost = false;
    int rc = -1;

    if (!comm && shutdown_request && !k->error.code)
        set_left(e);
    if (!comm && k->lifeline &&
        (shutdown_request || lifeline_check(k->lifeline, relayed, e) == 0))
        lifeline_fail(k->lifeline, e);
    if (!comm) {
        leave_device(k);
        return -1;
    }
    if (start->log_refused.code)
        *e = start->log_refused;
    else if (rank_identity_check_comm(self, comm, e) == 0)
        rc = given.bandwidth ? measure_bandwidth(comm, start, e)
                           : run_rank(c, self, comm, start, e);
    /* ERR_RESUMABLE may come from a checkpoint that failed because mark_lost had written the
     * marker; the error is then the lost rank. */
    if (rc < 0 && e->code == ERR_RESUMABLE && comm->lifeline &&
        lifeline_check(comm->lifeline, &lost, e))
        comm->relayed = lost;
    if (rc < 0 && self->tasks > 1 && !comm->relayed)
        err_rank(e, self->task, self->host);
    if (rc < 0 && start->log)
        run_log_failed(start->log, e);
    if (rc < 0 && comm->lifeline && !comm->relayed)
        lifeline_fail(comm->lifeline, e);
    if (rc < 0)
        comm->ops->abort(comm, e);
    *relayed = comm->relayed;
    if (leaves_device(comm, rc))
        leave_device(k);
    else
        comm->ops->close(comm);
    return rc > 0 ? set_left(e) : rc;
}

/* Replaces "auto" and "cpu" by a backend's name. The error of a process that cannot use its GPUs is
 * reported to all ranks after the rendezvous. */
static void choose_backend(struct settings *c, struct process_state *start)
{
    int rc = compute_choose(&start->compute, c->train.backend, &start->membership.error);

    if (rc == 0)
        c->train.backend = start->compute.backend->name;
    else if (strcmp(c->train.backend, "auto") == 0)
        c->train.backend = "cuda"; /* as on the other ranks */
}

/* Checks c, and chooses the device and the rank of this process. Returns 0 with the membership's
 * error if the device is at fault. */
static int choose_rank(struct settings *c, struct process_state *start, struct err *e)
{
    struct membership *k = &start->membership;
    struct rank_identity *s = &k->identity;

    choose_backend(c, start);
    if (run_config_check(c, e) || rank_identity_decide(c, !given.run, start->local, s, e))
        return -1;
    if (k->error.code) {
        if (s->tasks > 1)
            err_prefix(&k->error, "rank %d on %s", s->task, s->host);
        return 0;
    }
    compute_log(&start->compute, rank_identity_comm_name(s), c->train.dtype);
    membership_prepare(k, c);
    return 0;
}

struct training_start {
    struct settings *c;
    double process_start;
};

/* A local_rank_f. */
static int run_training(void *arg, const struct local_ranks *local, bool *relayed, struct err *e)
{
    const struct training_start *asked = arg;
    struct settings *c = asked->c;
    struct process_state start = {.process_start = asked->process_start, .local = local};
    struct membership *k = &start.membership;

    k->lost = mark_lost;
    k->arg = &start;
    shutdown_catch(true);
    if (rank_identity_launched_task() != 0) {
        log_set_level(LOG_WARN); /* only one rank logs progress */
    } else {
        if (check_resume(&start.log_refused) == 0)
            start.log = run_log_open(given.out, &start.again, &start.log_refused);
    }
    shutdown_watch(start.log);
    int rc = choose_rank(c, &start, e);
    if (rc == 0 && (rc = membership_meet(k, c, given.out, relayed, e)) && shutdown_request)
        set_left(e);
    if (rc == 0)
        rc = run_connected(c, &start, relayed, e);
    membership_close(k);
    if (rc && start.log)
        run_log_failed(start.log, e);
    if (rc == 0 && start.log)
        log_info("done: %s", run_log_dir(start.log));
    shutdown_unwatch();
    run_log_close(start.log);
    if (rc && e->code == ERR_RESUMABLE && shutdown_request == SIGINT)
        e->code = ERR_INTERRUPT;
    return rc;
}

static int run_train(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct settings c = {0};
    struct training_start start = {&c, clock_now()};
    bool relayed = false;

    int rc = configure_run(&c, e);
    if (rc == 0) {
        complete_model(&c);
        if (c.layout.gpus_per_task > 1)
            rc = local_ranks_run(c.layout.gpus_per_task, fmin(c.train.timeout_s, END_S),
                                 run_training, &start, e);
        else
            rc = run_training(&start, NULL, &relayed, e);
    }
    run_config_destroy(&c);
    return rc && relayed ? e->code : rc; /* another rank reports the error */
}

static void list_settings(struct buf *dst)
{
    settings_describe(settings_of_run, dst);
}

const struct cli_command cmd_train = {
    .name = "train",
    .args = "",
    .summary = "Train one network, on one rank or several",
    .details = details,
    .options = options,
    .settings = list_settings,
    .run = run_train,
};
