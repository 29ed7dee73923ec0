/* SPDX-License-Identifier: BSD-3-Clause */
/* The state is JSON beside the tensors of a snapshot (checkpoint/checkpoint.h). Rank 0 reads and
 * writes it; the other ranks get it by broadcasts. */
#include "src/base.h"
#include "trainer/run/session.h"

#include "src/clock.h"
#include "src/format/schema.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/json/cjson.h"

/* Facts about the checkpoint that is read. */
struct origin {
    int found;
    int parts;          /* replicas */
    size_t step_images; /* images in a step */
    size_t items;       /* images of the epoch used so far */
    bool other;         /* it is of another run, so that adjustable settings may differ */
    char changed[400];  /* the settings that differ, as text, or "" */
    bool changed_rate;  /* train.lr or train.lr_... is one of them */
};

static void folder_of(const char *attempt, char dst[PATH_MAX])
{
    snprintf(dst, PATH_MAX, "%s/checkpoint", attempt);
}

/* Returns all arrays of the state, a list to be freed by the caller. best: includes the best
 * weights (train.keep). */
static struct safetensors_entry *list_state(struct training *t, bool best, size_t *n, struct err *e)
{
    const struct weights *w = network_weights(t->network);
    size_t most = w->nentries * (size_t)(2 + t->optim->nslots);
    struct safetensors_entry *list = mem_zero(most, sizeof *list, e);
    char prefix[16];

    if (!list)
        return NULL;
    *n = safetensors_list(w, "", w->value, w->state, list);
    for (int i = 0; i < t->optim->nslots; i++) {
        snprintf(prefix, sizeof prefix, "optim.%s.", t->optim->slot_names[i]);
        *n += safetensors_list(w, prefix, t->optim->slots[i], NULL, list + *n);
    }
    if (best)
        *n += safetensors_list(w, "best.", t->best_value, t->best_state, list + *n);
    return list;
}

static void encode_config(const struct settings *c, cJSON *to)
{
    for (const struct setting *s = settings_of_run; s->path; s++) {
        struct buf text = {0};
        if (s->resume == SETTING_OPEN)
            continue;
        setting_format(s, c, &text);
        cjson_add(to, s->path, text.failed ? NULL : cJSON_CreateString(text.data));
        buf_destroy(&text);
    }
}

/* The values of an epoch in its row of the checkpoint; counts: its images and steps. Checkpoints of
 * earlier versions may have only the first NREQUIRED or more of them; the others stay 0. */
#define NVALUES 23
#define NREQUIRED 9
static void list_values(struct run_log_epoch *row, double counts[2], double *list[NVALUES])
{
    struct gradient_norms *n = &row->norms;
    struct score_summary *s = &row->eval.summary;
    double *all[NVALUES] = {
        &row->seconds, &row->loss, &row->lr, &counts[0], &counts[1],
        &row->data_s, &row->compute_s, &row->comm_s, &row->wait_s, &n->sq_local, &n->batch_local,
        &n->sq_global, &n->batch_global, &row->eval.seconds, &row->eval.loss, &s->iou, &s->dice,
        &s->precision, &s->recall, &s->accuracy, &row->iou, &row->loss_scale, &row->left_out};

    memcpy(list, all, sizeof all);
}

static void encode_epochs(const struct run_log *r, cJSON *to)
{
    size_t n;
    const struct run_log_epoch *epochs = run_log_epochs(r, &n);

    for (size_t i = 0; i < n; i++) {
        struct run_log_epoch row = epochs[i];
        double counts[] = {(double)row.images, (double)row.steps}, *list[NVALUES], values[NVALUES];
        list_values(&row, counts, list);
        for (int k = 0; k < NVALUES; k++)
            values[k] = *list[k];
        cjson_add(to, NULL, cJSON_CreateDoubleArray(values, NVALUES));
    }
}

static void encode_worlds(const struct training *t, cJSON *to)
{
    for (size_t i = 0; i < t->nworlds; i++) {
        const struct run_log_world *w = &t->worlds[i];
        const double values[] = {w->epoch, (double)w->images, w->gpus, (double)w->global_batch};
        cjson_add(to, NULL, cJSON_CreateDoubleArray(values, 4));
    }
}

/* Returns the state as JSON, to be freed by the caller. loss: by rank. */
static char *encode_state(const struct training *t, size_t items, const double *loss,
                          struct err *e)
{
    const struct resume_point *at = &t->at;
    const struct goal_state *goal = &at->goal;
    const struct device_scaling *scaling = t->optim->scaled;
    cJSON *o = cJSON_CreateObject();
    char plan[20], data[20];

    snprintf(plan, sizeof plan, "%016" PRIx64, network_plan_hash(t->network));
    snprintf(data, sizeof data, "%016" PRIx64, dataset_hash(t->dataset));
    cjson_addf(o, "schema=%d version=%s plan=%s data=%s", 1, PACKAGE_VERSION, plan, data);
    encode_config(t->config, cjson_object(o, "config"));
    cjson_addf(o, "optimizer_steps=%" PRId64 " parts=%d step_images=%zu epoch=%d items=%zu "
               "begin=%zu step=%zu steps_before=%zu seconds=%g data_s=%g compute_s=%g comm_s=%g",
               t->optim->steps, t->comm->size, run_config_step_images(t->config), at->epoch, items,
               at->begin, at->step, at->steps_before, at->seconds, at->totals.data_s,
               at->totals.compute_s, at->totals.comm_s);
    cjson_addf(o, "optimizer_rate=%g due=%d best=%g best_epoch=%d reached=%d stopped=%d cuts=%d "
               "cut_epoch=%d", t->optim->rate, at->due, goal->best, goal->best_epoch,
               goal->reached, goal->stopped, goal->cuts, goal->cut_epoch);
    if (scaling)
        cjson_addf(o, "scaling_factor=%g scaling_good=%d scaling_left_out=%d",
                   (double)scaling->factor, scaling->good, scaling->left_out);
    cjson_add(o, "loss", cJSON_CreateDoubleArray(loss, t->comm->size));
    if (t->init)
        cjson_add(o, "init", cJSON_Duplicate(t->init, true));
    encode_worlds(t, cjson_array(o, "worlds"));
    encode_epochs(t->log, cjson_array(o, "epochs"));
    return cjson_print(o, "", e);
}

static int write_snapshot(struct training *t, size_t items, const double *loss, struct err *e)
{
    char dir[PATH_MAX], *state = encode_state(t, items, loss, e);
    struct safetensors_entry *list = NULL;
    double began = clock_now();
    size_t n;
    int rc = -1;

    folder_of(run_log_dir(t->log), dir);
    if (state && weights_pull(network_weights(t->network), e) == 0 && optim_pull(t->optim, e) == 0)
        list = list_state(t, t->best_value && t->at.goal.best_epoch > 0, &n, e);
    if (list)
        rc = snapshot_write(dir, t->at.epoch, items, state, list, n, e);
    if (rc == 0)
        rc = run_log_checkpoint(t->log, t->at.epoch, items, clock_now() - began, e);
    free(list);
    free(state);
    return rc;
}

int resume_write(struct training *t, size_t items, bool must, struct err *e)
{
    double *loss = mem_zero((size_t)t->comm->size, sizeof *loss, e);

    if (!loss)
        return -1;
    int rc = t->comm->ops->gather(t->comm, &t->at.totals.loss, loss, sizeof *loss, e);
    if (rc == 0 && t->log)
        rc = run_log_check(t->log, e);
    if (rc == 0 && t->log) {
        rc = write_snapshot(t, items, loss, e);
        /* ERR_RESUMABLE: a later start of the job owns the folder, or another thread has written
         * the marker FAILED, for example because a rank was lost. */
        if (rc && !must && e->code != ERR_RESUMABLE) {
            log_warn("cannot write a checkpoint: %s; the training continues", e->text);
            rc = 0;
        }
    }
    free(loss);
    /* No rank may leave before the checkpoint exists. An error of rank 0 ends the barrier. */
    return rc == 0 && must ? t->comm->ops->barrier(t->comm, e) : rc;
}

/* Returns the value of a setting in a checkpoint, as text. If the checkpoint does not have it:
 * NULL for a setting that every version writes (expected), what that means for a newer one. */
static const char *value_of(const cJSON *config, const struct setting *s)
{
    const char *was = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(config, s->path));

    return was || s->expected ? was : setting_absent(s);
}

static bool has_value(const struct setting *s, const char *was, const char *text)
{
    return s->type == SETTING_REAL ? strtod(was, NULL) == strtod(text, NULL)
                                   : strcmp(was, text) == 0;
}

static void add_change(struct origin *from, const char *key, const char *was, const char *text)
{
    size_t n = strlen(from->changed);

    from->changed_rate |= strncmp(key, "train.lr", strlen("train.lr")) == 0;
    log_info("%s changes from %s to %s", key, was, text);
    snprintf(from->changed + n, sizeof from->changed - n, "%s%s %s -> %s", n ? ", " : "", key, was,
             text);
}

static int check_setting(const cJSON *config, const struct setting *s, const char *text,
                         struct origin *from, struct err *e)
{
    const char *was = value_of(config, s);

    if (was && has_value(s, was, text))
        return 0;
    if (!was || s->resume == SETTING_FIXED || !from->other)
        return err_set(e, ERR_CHECKPOINT, "was made with %s %s, but this run has %s; continue "
                       "with the same value, or start in another folder %s --resume", s->path,
                       !was ? "unknown" : *was ? was : "none", *text ? text : "none",
                       s->resume == SETTING_ADJUSTABLE ? "with" : "without");
    add_change(from, s->path, *was ? was : "none", *text ? text : "none");
    return 0;
}

static int check_config(const cJSON *root, const struct settings *c, struct origin *from,
                        struct err *e)
{
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(root, "config");
    int rc = 0;

    for (const struct setting *s = settings_of_run; rc == 0 && s->path; s++) {
        struct buf text = {0};
        if (s->resume == SETTING_OPEN)
            continue;
        setting_format(s, c, &text);
        rc = check_setting(config, s, text.data ? text.data : "", from, e);
        buf_destroy(&text);
    }
    return rc;
}

static bool has_hash(const cJSON *root, const char *name, uint64_t own)
{
    char text[32];

    snprintf(text, sizeof text, "%016" PRIx64, own);
    return strcmp(cjson_text(root, name), text) == 0;
}

static int check_state(const struct training *t, const cJSON *root, struct origin *from,
                       struct err *e)
{
    if (schema_check(cjson_number(root, "schema"), ERR_CHECKPOINT, e) ||
        check_config(root, t->config, from, e))
        return -1;
    if (!has_hash(root, "plan", network_plan_hash(t->network)))
        return err_set(e, ERR_CHECKPOINT, "was made by unet-train %s with another plan of the "
                       "network, and this is %s; continue with that version and the same model",
                       cjson_text(root, "version"), PACKAGE_VERSION);
    if (!has_hash(root, "data", dataset_hash(t->dataset)))
        return err_set(e, ERR_CHECKPOINT, "was made with other images or masks, or another split "
                       "(data.split)");
    return 0;
}

static int decode_epoch(const cJSON *row, struct run_log_epoch *epoch, struct err *e)
{
    double counts[2], *list[NVALUES];
    const cJSON *item = row->child;

    list_values(epoch, counts, list);
    for (int i = 0; i < NVALUES && (item || i < NREQUIRED); i++, item = item->next) {
        if (i < NREQUIRED && !cJSON_IsNumber(item))
            return err_set(e, ERR_CHECKPOINT, "epochs: a row is damaged");
        *list[i] = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    }
    epoch->images = (size_t)counts[0];
    epoch->steps = (size_t)counts[1];
    return 0;
}

static int decode_history(struct training *t, const cJSON *root, struct err *e)
{
    const cJSON *row;
    size_t n;

    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(root, "epochs")) {
        struct run_log_epoch epoch = {0};
        if (decode_epoch(row, &epoch, e) || run_log_epoch(t->log, &epoch, e))
            return -1;
        run_log_epochs(t->log, &n);
        if (epoch.eval.seconds > 0 && run_log_eval(t->log, (int)n, &epoch.eval, e))
            return -1;
    }
    return 0;
}

/* Sets the losses by rank; if the number of replicas has changed, rank 0 gets their sum. */
static void decode_losses(const cJSON *root, const struct origin *from, int parts, double *loss)
{
    const cJSON *item;
    int i = 0;

    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "loss"))
        loss[from->parts == parts && i < parts ? i++ : 0] += item->valuedouble;
}

static void decode_point(const cJSON *root, struct resume_point *at, struct origin *from)
{
    from->parts = (int)cjson_number(root, "parts");
    from->step_images = (size_t)cjson_number(root, "step_images");
    from->items = (size_t)cjson_number(root, "items");
    *at = (struct resume_point){
        .epoch = (int)cjson_number(root, "epoch"), .begin = (size_t)cjson_number(root, "begin"),
        .step = (size_t)cjson_number(root, "step"),
        .steps_before = (size_t)cjson_number(root, "steps_before"),
        .seconds = cjson_number(root, "seconds"),
        .totals = {.data_s = cjson_number(root, "data_s"),
                   .compute_s = cjson_number(root, "compute_s"),
                   .comm_s = cjson_number(root, "comm_s")},
        .due = cjson_number(root, "due") != 0,
        .goal = {.best = cjson_number(root, "best"),
                 .best_epoch = (int)cjson_number(root, "best_epoch"),
                 .reached = (int)cjson_number(root, "reached"),
                 .stopped = (int)cjson_number(root, "stopped"),
                 .cuts = (int)cjson_number(root, "cuts"),
                 .cut_epoch = (int)cjson_number(root, "cut_epoch")}};
}

static size_t item_size(const cJSON *row, int i)
{
    const cJSON *item = cJSON_GetArrayItem(row, i);

    return cJSON_IsNumber(item) && item->valuedouble >= 0 ? (size_t)item->valuedouble : 0;
}

/* Sets t->worlds (the numbers of replicas and of images per step that the run has had) to those of
 * the checkpoint, and appends the current ones if they differ from the last. */
static int decode_worlds(struct training *t, const cJSON *root, const struct origin *from,
                         struct err *e)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "worlds"), *row;
    struct run_log_world now = {t->at.epoch, from->items, t->comm->size,
                               run_config_step_images(t->config)};
    struct run_log_world *worlds =
        mem_zero((size_t)cJSON_GetArraySize(list) + 2, sizeof *worlds, e);
    size_t n = 0;

    if (!worlds)
        return -1;
    cJSON_ArrayForEach(row, list)
        worlds[n++] = (struct run_log_world){(int)item_size(row, 0), item_size(row, 1),
                                            (int)item_size(row, 2), item_size(row, 3)};
    if (n == 0)
        worlds[n++] = (struct run_log_world){0, 0, from->parts, from->step_images};
    if (worlds[n - 1].gpus != now.gpus || worlds[n - 1].global_batch != now.global_batch) {
        log_info(
            "the run continues with %d GPU%s (before: %d) and %zu images in a step (before: %zu)",
            now.gpus, plural(now.gpus), worlds[n - 1].gpus, now.global_batch,
            worlds[n - 1].global_batch);
        worlds[n++] = now;
    }
    free(t->worlds);
    t->worlds = worlds;
    t->nworlds = n;
    return 0;
}

/* Sets the state of loss scaling; the factor stays at its preset if the checkpoint has none. */
static void decode_scaling(const cJSON *root, const struct optim *o)
{
    double factor = cjson_number(root, "scaling_factor");

    if (!o->scaled)
        return;
    if (factor >= 1)
        *o->scaled = (struct device_scaling){
            .factor = (float)factor, .good = (int)cjson_number(root, "scaling_good"),
            .left_out = (int)cjson_number(root, "scaling_left_out")};
    o->scaled->taken = o->steps;
    o->scaled->rate = o->rate;
}

/* Resets decisions of the goal if settings have changed, since the next validation repeats them; a
 * changed train.lr or train.lr_... also resets the cuts of the rate. -1 with ERR_CHECKPOINT if the
 * checkpoint has more epochs than the run. */
static int reset_goal(struct training *t, const struct origin *from, struct err *e)
{
    int epochs = t->config->train.epochs;

    if (t->at.epoch > epochs || (t->at.epoch == epochs && from->items > 0))
        return err_set(e, ERR_CHECKPOINT,
                       "has completed %d epoch%s, but train.epochs is %d: raise it (--epochs)",
                       t->at.epoch, plural(t->at.epoch), epochs);
    if (t->at.epoch == epochs)
        log_info("all %d epochs are complete, and are only validated; --epochs N trains up to "
                 "epoch N", epochs);
    if (!from->other || !*from->changed)
        return 0;
    t->at.due = t->at.due || t->at.goal.stopped || t->at.epoch == epochs;
    t->at.goal.reached = t->at.goal.stopped = 0;
    if (from->changed_rate) {
        t->at.goal.cuts = 0;
        t->at.goal.cut_epoch = t->at.epoch;
    }
    return 0;
}

static int decode_state(struct training *t, const struct snapshot *snapshot, struct origin *from,
                  double *loss, struct err *e)
{
    cJSON *root = cJSON_Parse(snapshot->state);
    size_t n;
    int rc = check_state(t, root, from, e);
    struct safetensors_entry *list =
        rc ? NULL : list_state(t, t->best_value && cjson_number(root, "best_epoch") > 0, &n, e);

    if (!list || safetensors_read(snapshot->file, list, n, e)) {
        rc = -1;
    } else {
        decode_point(root, &t->at, from);
        t->optim->steps = (int64_t)cjson_number(root, "optimizer_steps");
        t->optim->rate = cjson_number(root, "optimizer_rate");
        decode_scaling(root, t->optim);
        decode_losses(root, from, t->comm->size, loss);
        rc = reset_goal(t, from, e) || decode_worlds(t, root, from, e) ? -1 : 0;
        struct run_log_resume row = {.from = snapshot->path, .epoch = t->at.epoch,
                                    .images = from->items, .gpus = from->parts,
                                    .changed = from->changed,
                                    .worlds = t->worlds, .nworlds = t->nworlds};
        t->init = cJSON_DetachItemFromObjectCaseSensitive(root, "init");
        rc = rc || run_log_resume(t->log, &row, e) ||
                     (t->init && run_log_init(t->log, t->init, e)) || decode_history(t, root, e)
                 ? -1 : 0;
    }
    free(list);
    cJSON_Delete(root);
    return rc ? err_prefix(e, "%s", snapshot->path) : 0;
}

/* Begins with the weights of model.init, or with those of the network. */
static int read_init(struct training *t, struct err *e)
{
    struct weights *w = network_weights(t->network);
    const char *file = t->config->model.init;

    if (!*file && weights_frozen(w))
        log_warn("model.freeze without model.init: what is frozen keeps its random values");
    if (!*file)
        return 0;
    t->init = checkpoint_fit(file, w, e);
    if (!t->init)
        return err_prefix(e, "model.init");
    return run_log_init(t->log, t->init, e);
}

static int begin_world(struct training *t, struct err *e)
{
    t->worlds = mem_zero(1, sizeof *t->worlds, e);
    if (!t->worlds)
        return -1;
    t->worlds[0] = (struct run_log_world){0, 0, t->comm->size, run_config_step_images(t->config)};
    t->nworlds = 1;
    return 0;
}

/* Called on rank 0: reads the newest intact checkpoint, if there is one, and writes to the record
 * where the training continues. */
static int read_newest(struct training *t, const struct resume_source *source, struct origin *from,
                     double *loss, struct err *e)
{
    char own[PATH_MAX], other[PATH_MAX];
    struct snapshot snapshot;

    folder_of(run_log_dir(t->log), own);
    snapshot_clean(own, false);
    int found = snapshot_open(own, &snapshot, e);
    if (found == 0 && source->attempt) {
        folder_of(source->attempt, other);
        from->other = true;
        found = snapshot_open(other, &snapshot, e);
        if (found == 0)
            return err_set(e, ERR_CHECKPOINT, "%s: has no intact checkpoint (state-*) to "
                           "continue from; to start at the beginning, leave --resume out or remove "
                           "that folder", other);
    }
    if (found < 0)
        return -1;
    if (!found) {
        if (source->again)
            log_info("%s has no checkpoint: the training starts at the beginning",
                     run_log_dir(t->log));
        if (begin_world(t, e) ||
            (source->again && run_log_resume(t->log, &(struct run_log_resume){0}, e)))
            return -1;
        return read_init(t, e);
    }
    from->found = 1;
    int rc = decode_state(t, &snapshot, from, loss, e);
    if (rc == 0)
        log_info("the training continues from %s: epoch %d, after %zu of its images", snapshot.path,
                 t->at.epoch + 1, from->items);
    snapshot_close(&snapshot);
    return rc;
}

/* Sends what rank 0 has read, except the weights, to all ranks. */
static int share_state(struct training *t, struct origin *from, double *loss, struct err *e)
{
    struct comm *c = t->comm;
    struct optim *o = t->optim;
    const struct { void *data; size_t nbytes; } parts[] = {
        {from, sizeof *from}, {&t->at, sizeof t->at}, {loss, (size_t)c->size * sizeof *loss},
        {&o->steps, sizeof o->steps}, {&o->rate, sizeof o->rate},
        {o->scaled, o->scaled ? sizeof *o->scaled : 0}};

    for (size_t i = 0; i < sizeof parts / sizeof *parts && (i == 0 || from->found); i++)
        if (parts[i].nbytes && c->ops->broadcast(c, parts[i].data, parts[i].nbytes, e))
            return -1;
    if (!from->found)
        return 0;
    for (int i = 0; i < o->nslots; i++)
        if (c->ops->broadcast(c, o->slots[i], o->n * sizeof **o->slots, e))
            return -1;
    if (optim_push(o, e))
        return -1;
    t->at.totals.loss = loss[c->rank];
    return 0;
}

int resume_read(struct training *t, const struct resume_source *source, struct err *e)
{
    struct origin from = {0};
    double *loss = mem_zero((size_t)t->comm->size, sizeof *loss, e);

    if (!loss)
        return -1;
    int rc = t->log ? read_newest(t, source, &from, loss, e) : 0;
    if (rc == 0)
        rc = share_state(t, &from, loss, e);
    free(loss);
    if (rc || !from.found)
        return rc;
    if (from.step_images != run_config_step_images(t->config)) {
        t->at.steps_before += t->at.step;
        t->at.begin = from.items;
        t->at.step = 0;
    }
    return 0;
}

int resume_share_weights(const struct training *t, struct err *e)
{
    struct weights *w = network_weights(t->network);
    struct comm *c = t->comm;

    return c->ops->broadcast(c, w->value, w->nparams * sizeof *w->value, e) ||
                   c->ops->broadcast(c, w->state, w->nstate * sizeof *w->state, e) ||
                   weights_push(w, e)
               ? -1 : 0;
}
