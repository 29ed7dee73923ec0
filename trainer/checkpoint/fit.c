/* SPDX-License-Identifier: BSD-3-Clause */
/* The tensors of the file are matched with the entries of the weights, by name and shape; then what
 * fits is read. */
#include "src/base.h"
#include "trainer/checkpoint/checkpoint.h"

#include <sys/param.h>

#define LISTED 20 /* names in the record; of more only their number */
#define SHAPE_SIZE 100

/* What the file has for an entry of the weights. */
struct match {
    bool found, fits;
    struct safetensors_entry tensor;
};

struct fit {
    const struct weights *w;
    struct match *matches; /* [w->nentries] */
    cJSON *anew, *left;    /* texts: entries without a match, and tensors without an entry */
    size_t nanew, nleft;
};

static void list_text(cJSON *list, size_t *n, const char *text)
{
    if ((*n)++ < LISTED)
        cjson_add(list, NULL, cJSON_CreateString(text));
}

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot ? dot + 1 : name;
}

static bool is_of_layer(const struct weights_entry *entry, const struct weights_entry *of)
{
    size_t n = (size_t)(last_part(of->name) - of->name);

    return strncmp(entry->name, of->name, n) == 0 && last_part(entry->name) == entry->name + n;
}

/* Returns whether the entry is of the head, which ends the network, or of the stem, which reads the
 * images: entries are in the reverse order of their use. */
static bool is_at_end(const struct weights *w, const struct weights_entry *entry)
{
    return is_of_layer(entry, &w->entries[0]) || is_of_layer(entry, &w->entries[w->nentries - 1]);
}

/* Returns the numbers of a parameter, trained or frozen; 0 for a running statistic. */
static size_t count_of(const struct weights_entry *entry)
{
    return entry->role == WEIGHTS_PARAM || entry->frozen ? entry->count : 0;
}

static bool has_torch_name(const struct weights_entry *entry, const char *name)
{
    size_t layer = strlen(name) - strlen(last_part(name));

    if (strcmp(last_part(name), last_part(entry->name)) != 0)
        return false;
    for (const char *at = entry->torch; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        if (n + 1 == layer && strncmp(at, name, n) == 0)
            return true;
        at += n;
    }
    return false;
}

/* Returns the index of the entry with this name, or else of that with it in PyTorch; nentries if
 * there is none. */
static size_t find_entry(const struct weights *w, const char *name)
{
    size_t i = 0, k = 0;

    while (i < w->nentries && strcmp(w->entries[i].name, name) != 0)
        i++;
    while (i == w->nentries && k < w->nentries && !has_torch_name(&w->entries[k], name))
        k++;
    return i < w->nentries ? i : k;
}

static bool has_shape(const struct safetensors_entry *t, const struct weights_entry *entry)
{
    bool same = t->ndim <= 4;

    for (int d = 0; same && d < 4; d++)
        same = (d < t->ndim ? t->shape[d] : 1) == (d < entry->ndim ? entry->shape[d] : 1);
    return same;
}

/* A visit of safetensors_each. */
static int match_tensor(void *arg, const struct safetensors_entry *found, struct err *e)
{
    struct fit *f = arg;
    size_t prefix = strncmp(found->name, "module.", 7) == 0 ? 7 : 0;
    size_t i = find_entry(f->w, found->name + prefix);

    if (i == f->w->nentries) {
        if (strcmp(last_part(found->name), "num_batches_tracked") != 0)
            list_text(f->left, &f->nleft, found->name);
        return 0;
    }
    struct match *m = &f->matches[i];
    if (m->found)
        return err_set(e, ERR_CHECKPOINT, "%s: given twice, also as %s", found->name,
                       m->tensor.name);
    *m = (struct match){true, has_shape(found, &f->w->entries[i]), *found};
    return 0;
}

static const char *format_shape(int ndim, const int64_t *shape, char dst[SHAPE_SIZE])
{
    size_t n = 0;

    snprintf(dst, SHAPE_SIZE, "a number");
    for (int d = 0; d < MIN(ndim, 4); d++)
        n += (size_t)snprintf(dst + n, SHAPE_SIZE - n, "%s%" PRId64, d ? "x" : "", shape[d]);
    return dst;
}

/* Refuses the weights of another network, or of this one with other layers. */
static int check_matches(const struct fit *f, struct err *e)
{
    const struct weights *w = f->w;
    size_t inner = 0, named = 0, wrong = w->nentries;
    char has[SHAPE_SIZE], wants[SHAPE_SIZE];

    for (size_t i = w->nentries; i-- > 0;) {
        const struct match *m = &f->matches[i];
        if (is_at_end(w, &w->entries[i]))
            continue;
        inner += count_of(&w->entries[i]);
        named += m->found ? count_of(&w->entries[i]) : 0;
        if (m->found && !m->fits && wrong == w->nentries)
            wrong = i;
    }
    if (2 * named < inner)
        return err_set(e, ERR_CHECKPOINT, "these are weights of another network: of %zu parameters "
                       "besides the first and the last layer the file has %zu by name (here %s and "
                       "others, there %s); take a file of this model, or name its layers by torch: "
                       "in a FILE.yaml of the model (doc/MODELS.md)", inner, named,
                       w->entries[w->nentries - 1].name,
                       f->left && f->left->child ? f->left->child->valuestring : "no other");
    if (wrong == w->nentries)
        return 0;
    const struct safetensors_entry *t = &f->matches[wrong].tensor;
    return err_set(e, ERR_CHECKPOINT, "%s has shape %s, but %s here has %s; only the first and the "
                   "last layer may differ: set model.base, model.depth and data.* as the file was "
                   "made", t->name, format_shape(t->ndim, t->shape, has), w->entries[wrong].name,
                   format_shape(w->entries[wrong].ndim, w->entries[wrong].shape, wants));
}

/* Returns the match of the weights of an entry's layer. */
static const struct match *match_of_weights(const struct fit *f, const struct weights_entry *entry)
{
    size_t i = 0;

    while (!is_of_layer(&f->w->entries[i], entry) ||
           strcmp(last_part(f->w->entries[i].name), "weight") != 0)
        i++;
    return &f->matches[i];
}

static void list_anew(struct fit *f, const struct weights_entry *entry, const struct match *m)
{
    char has[SHAPE_SIZE], wants[SHAPE_SIZE], text[4 * SHAPE_SIZE];

    snprintf(text, sizeof text, m->found && !m->fits ? "%s (%s, in the file %s)" : "%s",
             entry->name, format_shape(entry->ndim, entry->shape, wants),
             format_shape(m->tensor.ndim, m->tensor.shape, has));
    list_text(f->anew, &f->nanew, text);
}

/* Reads what fits and adds the numbers to o. A bias without the weights that it belongs to has no
 * meaning; weights without a bias are those of a layer that has none. */
static int take_matches(struct fit *f, const struct safetensors *s, cJSON *o, struct err *e)
{
    const struct weights *w = f->w;
    size_t taken = 0, all = 0;

    for (size_t i = w->nentries; i-- > 0;) {
        const struct weights_entry *entry = &w->entries[i];
        const struct match *of = match_of_weights(f, entry);
        struct match *m = &f->matches[i];
        bool fits = m->fits && of->fits, zero = !m->found && of->fits && of->tensor.ndim > 1;
        m->tensor.count = entry->count;
        m->tensor.data = (entry->role == WEIGHTS_PARAM ? w->value : w->state) + entry->offset;
        if (fits && safetensors_read_one(s, &m->tensor, e))
            return -1;
        if (zero)
            memset(m->tensor.data, 0, entry->count * sizeof *m->tensor.data);
        else if (!fits)
            list_anew(f, entry, m);
        all += count_of(entry);
        taken += fits || zero ? count_of(entry) : 0;
    }
    cjson_addf(o, "parameters=%g fitted=%g frozen=%g anew_tensors=%g left_tensors=%g", (double)all,
               (double)taken, (double)weights_frozen(w), (double)f->nanew, (double)f->nleft);
    return 0;
}

static void describe_list(const cJSON *list, const char *what, size_t all, struct buf *dst)
{
    const cJSON *item = list ? list->child : NULL;

    if (all > 0)
        buf_addf(dst, "; %zu tensor%s %s:", all, plural(all > 1 ? 2 : 1), what);
    for (int n = 0; item && n < 4; n++, item = item->next)
        buf_addf(dst, "%s %s", n ? "," : "", item->valuestring);
    buf_add(dst, all > 4 ? " ..." : "");
}

cJSON *checkpoint_fit(const char *file, struct weights *w, struct err *e)
{
    struct safetensors *s = safetensors_open(file, e);
    struct fit f = {.w = w, .matches = s ? mem_zero(w->nentries, sizeof *f.matches, e) : NULL};
    cJSON *o = cJSON_CreateObject();
    struct buf text = {0};
    size_t n = s ? 0 : strlen(e->text);
    int rc = -1;

    if (!s && access(file, R_OK) == 0)
        snprintf(e->text + n, sizeof e->text - n, "; it must be a whole .safetensors file "
                 "(doc/GUIDE.md has the line that converts PyTorch's .pth)");
    if (f.matches) {
        char sha256[65];
        safetensors_hash(s, sha256);
        cjson_addf(o, "file=%s sha256=%s", file, sha256);
        f.anew = cjson_array(o, "anew");
        f.left = cjson_array(o, "left");
        rc = safetensors_each(s, match_tensor, &f, e) || check_matches(&f, e) ||
             take_matches(&f, s, o, e) ? err_prefix(e, "%s", file) : 0;
    }
    if (rc == 0) {
        describe_list(f.anew, "of the network anew", f.nanew, &text);
        describe_list(f.left, "of the file not used", f.nleft, &text);
        log_info("model.init %s: %.0f of %.0f parameters fit, %zu are frozen%s", file,
                 cjson_number(o, "fitted"), cjson_number(o, "parameters"), weights_frozen(w),
                 text.data ? text.data : "");
    }
    buf_destroy(&text);
    free(f.matches);
    safetensors_close(s);
    if (rc)
        cJSON_Delete(o);
    return rc ? NULL : o;
}
