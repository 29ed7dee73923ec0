/* SPDX-License-Identifier: BSD-3-Clause */
/* Container files, and data folders of them. */
#include "src/base.h"
#include "trainer/data/source/source.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>

#include "src/atomicfile.h"
#include "src/format/sha256.h"
#include "src/format/tfrecord.h"
#include "trainer/data/image/classes.h"
#include "trainer/data/source/source_internal.h"
#include "trainer/data/source/tree.h"

#define CONTAINER_CIFAR_CLASSES 10

#define CIFAR_SIDE 32
#define CIFAR_PIXELS (CIFAR_SIDE * CIFAR_SIDE)
#define CIFAR_RECORD (1 + 3 * CIFAR_PIXELS) /* label, red plane, green plane, blue plane */
#define IDX_IMAGES 0x803u                   /* magic number: unsigned bytes, three dimensions */
#define IDX_LABELS 0x801u

struct mapping {
    uint8_t *bytes; /* NULL: an empty file */
    size_t nbytes;
};

struct container {
    enum source_format kind;
    char *path;
    int fd; /* TFRecord; else -1 */
    size_t count;
    uint32_t width, height;
    struct mapping file, label_file; /* CIFAR, idx: the whole file; idx: that of the labels */
    const uint8_t *bytes;            /* CIFAR, idx: the first sample in file */
    const uint8_t *labels;           /* idx: one per image, in label_file */
    struct tfrecord_index index;
};

void container_close(struct container *c)
{
    if (!c)
        return;
    if (c->file.bytes)
        munmap(c->file.bytes, c->file.nbytes);
    if (c->label_file.bytes)
        munmap(c->label_file.bytes, c->label_file.nbytes);
    tfrecord_index_free(&c->index);
    if (c->fd >= 0)
        close(c->fd);
    free(c->path);
    free(c);
}

static int inflate_into(gzFile gz, const char *path, FILE *f, struct err *e)
{
    enum { CHUNK = 1 << 16 };
    uint64_t total = 0;
    char chunk[CHUNK];
    int n, status;

    do {
        n = gzread(gz, chunk, CHUNK);
        gzerror(gz, &status); /* zlib 1.3.2 forgets at the next read that data ended early */
        if (n < 0 || (status != Z_OK && status != Z_STREAM_END))
            return err_set(e, ERR_DATA, "%s: is damaged: its gzip data end early or have a wrong "
                           "checksum", path);
        if ((total += (uint64_t)n) > PIXELS_MAX_BYTES)
            return err_set(e, ERR_DATA, "%s: decompresses to more than 1 GiB: gunzip it first",
                           path);
        if (fwrite(chunk, 1, (size_t)n, f) != (size_t)n)
            return err_errno(e, ERR_DATA, errno, "%s: cannot be decompressed to a temporary file: "
                             "gunzip it first", path);
    } while (n > 0);
    return fflush(f) ? err_errno(e, ERR_DATA, errno, "%s: cannot be decompressed", path) : 0;
}

static FILE *open_temporary(struct err *e)
{
    const char *dir = getenv("TMPDIR");
    char *path = mem_textf(e, "%s/unet-train.XXXXXX", dir && *dir ? dir : "/tmp");
    int fd = path ? mkstemp(path) : -1;
    FILE *f = fd >= 0 ? fdopen(fd, "w+") : NULL;

    if (path && !f)
        err_errno(e, ERR_DATA, errno, "cannot create %s to decompress a file (TMPDIR)", path);
    if (fd >= 0)
        unlink(path);
    if (fd >= 0 && !f)
        close(fd);
    free(path);
    return f;
}

/* If fd is a gzip file, replaces it by an unnamed temporary file of its content. */
static int decompress(int *fd, const char *path, struct err *e)
{
    unsigned char magic[2];

    if (pread(*fd, magic, 2, 0) != 2 || magic[0] != 0x1f || magic[1] != 0x8b)
        return 0;
    FILE *f = open_temporary(e);
    int own = dup(*fd), rc = -1, content = -1;
    gzFile gz = own >= 0 ? gzdopen(own, "rb") : NULL;
    if (f && gz)
        rc = inflate_into(gz, path, f, e);
    else if (f)
        err_errno(e, ERR_DATA, errno, "%s: cannot be decompressed", path);
    if (gz)
        gzclose(gz);
    else if (own >= 0)
        close(own);
    if (rc == 0 && (content = dup(fileno(f))) < 0)
        rc = err_errno(e, ERR_DATA, errno, "%s", path);
    if (f)
        fclose(f);
    if (rc == 0) {
        close(*fd);
        *fd = content;
    }
    return rc;
}

/* Opens a file, which is decompressed if it is gzip. Returns its descriptor, or -1. */
static int open_content(const char *path, struct err *e)
{
    struct stat st;
    int fd = atomicfile_open_regular(path, &st, e);

    if (fd < 0 || decompress(&fd, path, e) == 0)
        return fd;
    close(fd);
    return -1;
}

static int map_content(struct mapping *m, const char *path, struct err *e)
{
    struct stat st;
    int fd = open_content(path, e);

    if (fd < 0)
        return -1;
    m->nbytes = fstat(fd, &st) == 0 ? (size_t)st.st_size : 0;
    void *map = m->nbytes ? mmap(NULL, m->nbytes, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    int reason = errno;
    close(fd);
    if (map == MAP_FAILED)
        return err_errno(e, ERR_DATA, reason, "cannot map %s", path);
    m->bytes = map;
    return 0;
}

static int open_cifar(struct container *c, struct err *e)
{
    if (map_content(&c->file, c->path, e))
        return -1;
    if (c->file.nbytes == 0 || c->file.nbytes % CIFAR_RECORD)
        return err_set(e, ERR_DATA,
                       "%s: its %zu bytes are not a multiple of %d, the size of a CIFAR-10 "
                       "record: the file is truncated or has another format",
                       c->path, c->file.nbytes, CIFAR_RECORD);
    c->bytes = c->file.bytes;
    c->count = c->file.nbytes / CIFAR_RECORD;
    c->width = c->height = CIFAR_SIDE;
    for (size_t i = 0; i < c->count; i++)
        if (c->bytes[i * CIFAR_RECORD] >= CONTAINER_CIFAR_CLASSES)
            return err_set(e, ERR_DATA, "%s: record %zu has label %u; CIFAR-10 has 0 to 9", c->path,
                           i, c->bytes[i * CIFAR_RECORD]);
    return 0;
}

static uint32_t big_endian_32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Maps an idx file, and sets dims[0..ndims-1] from its header. Returns the content behind that, in
 * the mapping, or NULL. */
static const uint8_t *map_idx(struct mapping *m, const char *path, uint32_t magic, int ndims,
                              uint32_t *dims, struct err *e)
{
    size_t nhead = 4 + 4 * (size_t)ndims;
    uint64_t total = 1;

    if (map_content(m, path, e))
        return NULL;
    if (m->nbytes < nhead || big_endian_32(m->bytes) != magic) {
        err_set(e, ERR_DATA, "%s: starts with %08x; idx files of %s start with %08x", path,
                m->nbytes < 4 ? 0 : big_endian_32(m->bytes), ndims == 3 ? "images" : "labels",
                magic);
        return NULL;
    }
    for (int i = 0; i < ndims; i++) {
        dims[i] = big_endian_32(m->bytes + 4 + 4 * i);
        if (__builtin_mul_overflow(total, (uint64_t)dims[i], &total))
            total = UINT64_MAX;
    }
    if (total == 0 || total != m->nbytes - nhead) {
        err_set(e, ERR_DATA, "%s: its header says %llu bytes in %u items, but %zu bytes follow",
                path, (unsigned long long)total, dims[0], m->nbytes - nhead);
        return NULL;
    }
    return m->bytes + nhead;
}

/* Returns the path of the labels that belong to an idx file of images:
 * ".../train-images-idx3-ubyte.gz" gives ".../train-labels-idx1-ubyte.gz", or if there is no such
 * file the same without .gz, or with .gz for a path without. The caller frees it. NULL if path is
 * not named like that. */
static char *labels_path(const char *path)
{
    static const char images[] = "images-idx3-ubyte";
    const char *at = NULL;
    char *labels;

    for (const char *p = path; (p = strstr(p, images)); p++)
        at = p;
    if (!at || asprintf(&labels, "%.*slabels-idx1-ubyte%s", (int)(at - path), path,
                        at + sizeof images - 1) < 0)
        return NULL;
    if (access(labels, F_OK) == 0)
        return labels;
    char *dot = strstr(labels + (at - path), ".gz");
    char *other = NULL;
    if (dot)
        *dot = 0;
    else if (asprintf(&other, "%s.gz", labels) >= 0) {
        free(labels);
        labels = other;
    }
    return labels;
}

static int open_idx(struct container *c, struct err *e)
{
    uint32_t dims[3], nlabels;
    char *path = labels_path(c->path);
    int rc = -1;

    if (!path)
        return err_set(e, ERR_DATA, "%s: is not named *images-idx3-ubyte", c->path);
    c->bytes = map_idx(&c->file, c->path, IDX_IMAGES, 3, dims, e);
    if (c->bytes && pixels_check_size(dims[2], dims[1], c->path, e) == 0)
        c->labels = map_idx(&c->label_file, path, IDX_LABELS, 1, &nlabels, e);
    if (c->labels && nlabels != dims[0])
        err_set(e, ERR_DATA, "%s has %u images, but %s %u labels", c->path, dims[0], path, nlabels);
    else if (c->labels) {
        c->count = dims[0];
        c->height = dims[1];
        c->width = dims[2];
        rc = 0;
    }
    free(path);
    return rc;
}

bool container_guess(const char *name, enum source_format *kind)
{
    const char *idx = strstr(name, "images-idx3-ubyte");

    *kind = idx                               ? SOURCE_IDX
            : filename_ends(name, ".records") ? SOURCE_TFRECORD
                                              : SOURCE_CIFAR;
    if (idx)
        return strcmp(idx + 17, "") == 0 || strcmp(idx + 17, ".gz") == 0;
    return *kind == SOURCE_TFRECORD ||
           (filename_ends(name, ".bin") && (strncmp(name, "data_batch", 10) == 0 ||
                                      strncmp(name, "test_batch", 10) == 0));
}

bool container_is_tfrecord(const char *path)
{
    unsigned char head[TFRECORD_HEAD];
    struct stat st;
    struct err ignored;
    int fd = atomicfile_open_regular(path, &st, &ignored);
    gzFile gz = fd >= 0 ? gzdopen(fd, "rb") : NULL;

    if (!gz) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool found = gzread(gz, head, sizeof head) == (int)sizeof head && tfrecord_begins(head);
    gzclose(gz);
    return found;
}

struct container *container_open(enum source_format kind, const char *path, struct err *e)
{
    struct container *c = mem_zero(1, sizeof *c, e);
    int rc = -1;

    if (!c)
        return NULL;
    c->kind = kind;
    c->fd = -1;
    c->path = mem_text(path, e);
    if (c->path && kind == SOURCE_IDX)
        rc = open_idx(c, e);
    else if (c->path && kind == SOURCE_CIFAR)
        rc = open_cifar(c, e);
    else if (c->path && (c->fd = open_content(c->path, e)) >= 0)
        rc = tfrecord_scan(c->fd, c->path, &c->index, e);
    c->count = kind == SOURCE_TFRECORD ? c->index.count : c->count;
    if (rc == 0)
        return c;
    container_close(c);
    return NULL;
}

size_t container_count(const struct container *c)
{
    return c->count;
}

static const uint8_t *sample_bytes(const struct container *c, size_t i, size_t *n)
{
    if (c->kind == SOURCE_CIFAR) {
        *n = CIFAR_RECORD;
        return c->bytes + i * CIFAR_RECORD;
    }
    *n = (size_t)c->width * c->height;
    return c->bytes + i * *n;
}

static int check_record_hash(const struct container *c, size_t i, const uint8_t *bytes, size_t n,
                             const char *want, char *sha256, struct err *e)
{
    char hex[65];
    struct sha256_ctx h;

    if (!want && !sha256)
        return 0;
    sha256_init(&h);
    sha256_add(&h, bytes, n);
    if (c->kind == SOURCE_IDX)
        sha256_add(&h, &c->labels[i], 1);
    sha256_finish(&h, hex);
    if (sha256)
        strcpy(sha256, hex);
    if (want && strcmp(want, hex) != 0)
        return err_set(e, ERR_DATA, "%s: record %zu is not the one that the split was made with "
                       "(SHA-256 %.16s..., recorded %.16s...); restore the file, or make a new split",
                       c->path, i, hex, want);
    return 0;
}

static void spread_planes(const uint8_t *planes, uint8_t *dst)
{
    for (size_t i = 0; i < CIFAR_PIXELS; i++)
        for (size_t plane = 0; plane < 3; plane++)
            dst[3 * i + plane] = planes[plane * CIFAR_PIXELS + i];
}

static int decode_plain(const struct container *c, size_t i, const char *want, char *sha256,
                        struct pixels *img, struct err *e)
{
    size_t n;
    const uint8_t *bytes = sample_bytes(c, i, &n);

    if (check_record_hash(c, i, bytes, n, want, sha256, e))
        return -1;
    img->width = c->width;
    img->height = c->height;
    img->source_bits = 8;
    img->pages = 1;
    if (pixels_allocate(img, c->path, c->kind == SOURCE_CIFAR ? 3 : 1, 8, e))
        return -1;
    if (c->kind == SOURCE_CIFAR)
        spread_planes(bytes + 1, img->samples);
    else
        memcpy(img->samples, bytes, n);
    return 0;
}

static int decode_record(const struct container *c, size_t i, enum example_part part,
                         const char *want, char *sha256, struct pixels *img, struct err *e)
{
    size_t n = (size_t)c->index.places[i].nbytes;
    char name[32];

    uint8_t *bytes = tfrecord_read(c->fd, c->path, &c->index, i, PIXELS_MAX_FILE, e);
    if (!bytes)
        return -1;
    snprintf(name, sizeof name, "record %zu", i);
    int rc = check_record_hash(c, i, bytes, n, want, sha256, e);
    if (rc == 0 && example_decode(bytes, n, name, part, img, e))
        rc = err_prefix(e, "%s", c->path);
    free(bytes);
    return rc;
}

int container_decode(const struct container *c, size_t i, bool mask, const char *want,
                     char sha256[65], struct pixels *img, struct err *e)
{
    memset(img, 0, sizeof *img);
    if (c->kind == SOURCE_TFRECORD)
        return decode_record(c, i, mask ? EXAMPLE_TARGET : EXAMPLE_IMAGE, want, sha256, img, e);
    return mask ? err_set(e, ERR_INTERNAL, "%s: has no masks", c->path)
                : decode_plain(c, i, want, sha256, img, e);
}

int container_label(const struct container *c, size_t i, struct err *e)
{
    char name[32];
    int label, rc;

    if (c->kind == SOURCE_CIFAR)
        return c->bytes[i * CIFAR_RECORD];
    if (c->kind == SOURCE_IDX)
        return c->labels[i];
    uint8_t *bytes = tfrecord_read(c->fd, c->path, &c->index, i, PIXELS_MAX_FILE, e);
    if (!bytes)
        return -2;
    snprintf(name, sizeof name, "record %zu", i);
    rc = example_label(bytes, (size_t)c->index.places[i].nbytes, name, &label, e);
    free(bytes);
    if (rc < 0)
        err_prefix(e, "%s", c->path);
    return rc < 0 ? -2 : rc == 0 ? -1 : label;
}

static int list_records(struct source *s, const char *name, enum source_side side, struct err *e)
{
    struct container *c = source_container(s, name, e);
    int rc = c ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < container_count(c); i++) {
        int label = container_label(c, i, e);
        char *image = label == -2 ? NULL : mem_textf(e, "%s#%zu", name, i), stem[512];
        char *mask = label < 0 && image ? mem_text(image, e) : NULL;
        if (!image) {
            rc = -1;
            break;
        }
        /* Padded, so that stems sort as the records do. */
        snprintf(stem, sizeof stem, "%.400s#%07zu", name, i);
        rc = source_add(s, stem, image, mask, label, side, e);
    }
    container_close(c);
    return rc;
}

/* Class names are the lines of batches.meta.txt, or numbers if there is no such file. */
static int name_cifar_classes(struct source *s, const char *sub, struct err *e)
{
    char path[4096], number[16];
    struct err ignored;
    size_t n;

    snprintf(path, sizeof path, "%s/%s/batches.meta.txt", s->dir, sub ? sub : ".");
    char *text = atomicfile_read(path, 1 << 16, &n, &ignored), *rest = text, *line;
    int rc = 0;
    while (rc == 0 && s->nclasses < CONTAINER_CIFAR_CLASSES && rest && (line = strsep(&rest, "\n")))
        if (*line)
            rc = source_add_class(s, line, e);
    while (rc == 0 && s->nclasses < CONTAINER_CIFAR_CLASSES) {
        snprintf(number, sizeof number, "%d", s->nclasses);
        rc = source_add_class(s, number, e);
    }
    free(text);
    return rc;
}

/* sub: the folder below dir, "cifar-10-batches-bin", or NULL for dir itself. */
static int list_cifar(struct source *s, const char *sub, const struct tree *files, struct err *e)
{
    bool has_test = false;
    int rc = name_cifar_classes(s, sub, e);

    for (size_t i = 0; i < files->count; i++)
        has_test = has_test || strncmp(files->paths[i], "test", 4) == 0;
    if (!has_test)
        log_info("%s: no test_batch.bin; a share of the training records is used for validation",
                 s->dir);
    for (size_t i = 0; rc == 0 && i < files->count; i++) {
        char name[512];
        bool test = strncmp(files->paths[i], "test", 4) == 0;
        snprintf(name, sizeof name, "%s%s%.400s", sub ? sub : "", sub ? "/" : "", files->paths[i]);
        rc = list_records(s, name, !has_test ? SOURCE_ANY : test ? SOURCE_VAL : SOURCE_TRAIN, e);
    }
    return rc;
}

/* Names the classes of numeric labels: 0 to the largest. */
static int name_numbers(struct source *s, struct err *e)
{
    char number[16];
    int max = 0, min = INT_MAX;

    for (size_t i = 0; i < s->count; i++) {
        max = s->items[i].label > max ? s->items[i].label : max;
        min = s->items[i].label < min ? s->items[i].label : min;
    }
    if (min > 0 && min <= max)
        log_warn("%s: the labels begin at %d: class 0 has no image", s->dir, min);
    if (max >= CLASSES_MAX)
        return err_set(e, ERR_DATA, "%s: class %d; at most %d are supported", s->dir, max,
                       CLASSES_MAX);
    while (s->nclasses <= max) {
        snprintf(number, sizeof number, "%d", s->nclasses);
        if (source_add_class(s, number, e))
            return -1;
    }
    return 0;
}

/* Lists the containers of a kind in dir/sub: by their name, and TFRecord files, whose names may be
 * others, also by their first bytes. */
static int list_kind(const struct source *s, const char *sub, enum source_format kind,
                     struct tree *files, struct err *e)
{
    int rc = tree_list(s->dir, sub, NULL, files, e);
    size_t kept = 0;

    for (size_t i = 0; i < files->count; i++) {
        char *name = files->paths[i];
        enum source_format guessed;
        bool known = container_guess(name, &guessed);
        if (rc == 0 && !known && kind == SOURCE_TFRECORD && !filename_is_image(name)) {
            char *path = mem_textf(e, "%s/%s/%s", s->dir, sub ? sub : "", name);
            known = path && container_is_tfrecord(path);
            guessed = SOURCE_TFRECORD;
            rc = path ? 0 : -1;
            free(path);
        }
        if (known && guessed == kind)
            files->paths[kept++] = name;
        else
            free(name);
    }
    files->count = kept;
    return rc;
}

/* What a name says of a shard: the side by its last word for one, and "00001-of-00003". */
struct shard {
    enum { SHARD_ANY, SHARD_TRAIN, SHARD_VAL, SHARD_TEST } word;
    size_t family;       /* length of the name before the word, without separators */
    size_t prefix;       /* length of the name before the number */
    unsigned number, of; /* of: 0 without a number */
};

static struct shard parse_shard(const char *name)
{
    static const char *const *const words[] = {layout_train, layout_held_out};
    struct shard s = {.word = SHARD_ANY};

    for (size_t at = 0; name[at]; at++)
        for (size_t k = 0; k < 2 && (at == 0 || !isalpha((unsigned char)name[at - 1])); k++)
            for (size_t i = 0; words[k][i]; i++) {
                size_t n = strlen(words[k][i]);
                if (strncasecmp(name + at, words[k][i], n) != 0 ||
                    isalpha((unsigned char)name[at + n]))
                    continue;
                s.word = k == 0 ? SHARD_TRAIN : *words[k][i] == 'v' ? SHARD_VAL : SHARD_TEST;
                s.family = at;
            }
    while (s.family > 0 && strchr("-_.", name[s.family - 1]))
        s.family--;
    const char *of = strstr(name, "-of-");
    s.prefix = of ? (size_t)(of - name) : 0;
    while (s.prefix > 0 && isdigit((unsigned char)name[s.prefix - 1]))
        s.prefix--;
    if (sscanf(name + s.prefix, "%9u-of-%9u", &s.number, &s.of) != 2)
        s.of = 0;
    return s;
}

/* The shards of a folder. */
struct shards {
    struct tree files;
    struct shard *items;
    bool has[SHARD_TEST + 1]; /* by word */
};

static bool is_of_series(const struct shards *l, size_t i, size_t k)
{
    return l->items[k].of == l->items[i].of && l->items[k].prefix == l->items[i].prefix &&
           strncmp(l->files.paths[k], l->files.paths[i], l->items[i].prefix) == 0;
}

static bool has_number(const struct shards *l, size_t i, unsigned number)
{
    for (size_t k = 0; k < l->files.count; k++)
        if (is_of_series(l, i, k) && l->items[k].number == number)
            return true;
    return false;
}

static int refuse_missing(const struct source *s, const struct shards *l, struct err *e)
{
    for (size_t i = 0; i < l->files.count; i++) {
        const char *name = l->files.paths[i], *number = name + l->items[i].prefix;
        bool first = i == 0 || !is_of_series(l, i, i - 1);
        for (unsigned m = 0; first && m < l->items[i].of; m++)
            if (!has_number(l, i, m))
                return err_set(e, ERR_DATA, "%s: %.*s%0*u%s is missing, but %s is there: restore "
                               "it, or rename the others", s->dir, (int)l->items[i].prefix, name,
                               (int)strspn(number, "0123456789"), m, strstr(number, "-of-"), name);
    }
    return 0;
}

/* Returns whether the words of the names divide the shards. */
static bool is_divided(const struct shards *l)
{
    return l->has[SHARD_TRAIN] && (l->has[SHARD_VAL] || l->has[SHARD_TEST]);
}

/* Refuses shards of several sets, and in a set that is divided one of neither side. */
static int refuse_strangers(const struct source *s, const struct shards *l, struct err *e)
{
    size_t first = 0;

    while (first < l->files.count && l->items[first].word == SHARD_ANY)
        first++;
    for (size_t i = 0; i < l->files.count; i++) {
        const char *name = l->files.paths[i], *other = l->files.paths[first];
        size_t n = l->items[i].family;
        if (l->items[i].word == SHARD_ANY && is_divided(l))
            return err_set(e, ERR_DATA, "%s: %s is neither for training nor for validation, as the "
                           "others are by their names: rename it, or move it away", s->dir, name);
        if (l->items[i].word != SHARD_ANY &&
            (n != l->items[first].family || strncmp(name, other, n) != 0))
            return err_set(e, ERR_CONFIG, "%s: %s and %s are of different sets: choose one by its "
                           "beginning, data.images=%.*s%s%.*s (unet-train data: --image-folder), or "
                           "move the others away", s->dir, other, name, (int)n, name,
                           n && l->items[first].family ? " or data.images=" : "",
                           (int)l->items[first].family, other);
    }
    return 0;
}

/* Adds the records of the shards in dir/sub. side: that of all, or SOURCE_ANY: as their names say.
 * Returns how many shards there are, or -1. */
static int list_shards(struct source *s, const char *sub, enum source_format format,
                       const char *family, enum source_side side, struct err *e)
{
    struct shards l = {.has = {false}};
    int rc = list_kind(s, sub, format, &l.files, e), n = 0;
    size_t kept = 0;

    s->format = format;
    if (rc == 0 && !(l.items = mem_alloc(l.files.count + 1, sizeof *l.items, e)))
        rc = -1;
    for (size_t i = 0; rc == 0 && i < l.files.count; i++) {
        char *name = l.files.paths[i];
        struct shard shard = parse_shard(name);
        if (family && (shard.word == SHARD_ANY || strlen(family) != shard.family ||
                       strncmp(name, family, shard.family) != 0)) {
            free(name);
            continue;
        }
        l.has[shard.word] = true;
        l.items[kept] = shard;
        l.files.paths[kept++] = name;
    }
    if (rc == 0)
        l.files.count = kept;
    if (rc == 0)
        rc = refuse_missing(s, &l, e) ||
             (side == SOURCE_ANY && refuse_strangers(s, &l, e)) ? -1 : 0;
    bool divided = side == SOURCE_ANY && is_divided(&l);
    for (size_t i = 0; rc == 0 && i < l.files.count; i++) {
        char name[512];
        snprintf(name, sizeof name, "%s%s%.400s", sub ? sub : "", sub ? "/" : "", l.files.paths[i]);
        bool train = l.items[i].word == SHARD_TRAIN;
        if (divided && l.items[i].word == SHARD_TEST && l.has[SHARD_VAL])
            log_info("%s: %s is not used, as other files are for validation", s->dir, name);
        else
            rc = list_records(s, name, !divided ? side : train ? SOURCE_TRAIN : SOURCE_VAL, e);
        n++;
    }
    free(l.items);
    tree_free(&l.files);
    return rc ? -1 : n;
}

/* TFRecord files in train/, and in val/ or another folder of held-out data. Returns as
 * list_shards. */
static int list_folders(struct source *s, struct err *e)
{
    char train[NAME_MAX + 1], val[NAME_MAX + 1];
    int n = !layout_folder(s->dir, layout_train, train) ? 0
            : list_shards(s, train, SOURCE_TFRECORD, NULL, SOURCE_TRAIN, e), nval = 0;

    for (size_t i = 0; n > 0 && nval == 0 && layout_held_out[i]; i++) {
        const char *const name[] = {layout_held_out[i], NULL};
        if (layout_folder(s->dir, name, val))
            nval = list_shards(s, val, SOURCE_TFRECORD, NULL, SOURCE_VAL, e);
    }
    for (size_t i = 0; nval == 0 && i < s->count; i++)
        s->items[i].side = SOURCE_ANY;
    return nval < 0 ? -1 : n;
}

static int name_classes(struct source *s, struct err *e)
{
    for (size_t i = 1; i < s->count; i++)
        if (!s->items[i].mask != !s->items[0].mask)
            return err_set(e, ERR_DATA, "%s: %s has a mask or a class, %s the other", s->dir,
                           s->items[0].image, s->items[i].image);
    return s->count && !s->items[0].mask ? name_numbers(s, e) : 0;
}

int record_files_list(struct source *s, const char *family, struct err *e)
{
    static const char *const cifar[] = {NULL, "cifar-10-batches-bin"};
    struct tree files;
    int found = 0;

    for (size_t i = 0; i < 2 && found == 0 && !family; i++) {
        found = list_kind(s, cifar[i], SOURCE_CIFAR, &files, e);
        s->format = SOURCE_CIFAR;
        if (found == 0 && files.count)
            found = list_cifar(s, cifar[i], &files, e) ? -1 : 1;
        tree_free(&files);
    }
    if (found)
        return found;
    found = list_shards(s, NULL, SOURCE_IDX, family, SOURCE_ANY, e);
    if (found == 0)
        found = list_shards(s, NULL, SOURCE_TFRECORD, family, SOURCE_ANY, e);
    if (found == 0 && !family)
        found = list_folders(s, e);
    return found <= 0 ? found : name_classes(s, e) ? -1 : 1;
}
