/* SPDX-License-Identifier: BSD-3-Clause */
/* An emulation of NCCL for emulated devices (backends/cuda/runtime/test/emulate.h): ranks are
 * processes of this machine, share a file, and really sum. As with NCCL, no call waits,
 * work is done in the order of the device's queue, and a rank that aborts ends the others' work. An
 * abort returns only when no graph has work of the communicator and none of it is in flight.
 * What NCCL forbids, but may let pass, is an error: ranks that do not all record a collective, or
 * replay another recording of it, two communicators whose work has no order
 * (NCCL_LAUNCH_ORDER_IMPLICIT), and two ranks with one GPU and one NCCL_HOSTID. $EMULATE_NCCL: the
 * version (default 22703).
 * Included by emulated.c. */
#include "src/base.h"

#include <fcntl.h>
#include <stdatomic.h>

#include "trainer/comm/nccl_library.h"

#define NCCL_RANKS 16
#define NCCL_PART ((size_t)32 << 10) /* bytes of a message that are sent at a time */
#define REMOTE_ERROR 6
#define NCCL_INTERNAL_ERROR 3
#define NCCL_INVALID_USAGE 5

/* What all ranks must agree in. */
struct nccl_tag {
    unsigned recording, place; /* number of the communicator's recording, and place in it, or 0 */
    int what, type, op, root; /* no padding, as tags are compared as bytes */
    size_t nbytes;
};

/* The memory that ranks share. It has two parts: one rank may be writing the second while another
 * still reads the first, but no rank is further ahead. */
struct nccl_world {
    atomic_int present, gone, mixed;
    struct { uint64_t host, gpu; } places[NCCL_RANKS];
    struct nccl_tag tags[2][NCCL_RANKS];
    atomic_size_t written[NCCL_RANKS]; /* parts that each rank has written */
    char parts[2][NCCL_RANKS][NCCL_PART];
    /* What each rank sends to a single one, whose rank + 1 is in `to` until it has received it. */
    char boxes[NCCL_RANKS][NCCL_PART];
    atomic_int to[NCCL_RANKS];
};

struct nccl_link {
    struct nccl_world *world;
    int rank, size, most_blocks;
    size_t done; /* parts that this rank has completed */
    atomic_bool aborted;
    atomic_long nheld; /* works of it in queues and graphs */
    size_t nqueued, nfinished; /* messages that are not recorded: NCCL does them in this order */
    unsigned ncaptures; /* emulate_stream.ncaptures of the last recording */
    unsigned nrecordings, place;
    struct nccl_link *next;
};

static struct nccl_link *nccl_links; /* never freed: queues may still have work for aborted links */

enum nccl_what { REDUCE, BROADCAST, GATHER };

struct nccl_message {
    enum nccl_what what;
    const char *src;
    char *dst;
    size_t nbytes;
    int type, op, root;
    struct nccl_link *link;
    struct nccl_tag tag;
    size_t turn; /* of link->nqueued; 0: recorded */
};

static int nccl_version(int *version)
{
    if (emulate_fails(__func__))
        return NCCL_INTERNAL_ERROR;
    *version = emulate_number("EMULATE_NCCL", 22703);
    return NCCL_SUCCESS;
}

static int nccl_get_id(struct nccl_id *id)
{
    if (emulate_fails(__func__))
        return NCCL_INTERNAL_ERROR;
    memset(id, 0, sizeof *id);
    snprintf(id->bytes, sizeof id->bytes, "%s/nccl-emulated-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    int file = mkstemp(id->bytes);
    int rc = file < 0 || ftruncate(file, sizeof(struct nccl_world));

    close(file);
    return rc;
}

static bool nccl_has_link(void)
{
    const struct nccl_link *l = nccl_links;

    while (l && l->aborted)
        l = l->next;
    return l;
}

/* Returns whether NCCL orders the work of several communicators of this process. */
static bool nccl_is_ordered(void)
{
    const char *order = getenv("NCCL_LAUNCH_ORDER_IMPLICIT");

    return order && strcmp(order, "1") == 0 && emulate_number("EMULATE_NCCL", 22703) >= 22600 &&
           emulate_number("EMULATE_DRIVER", EMULATE_RUNTIME) >= 12090;
}

static int nccl_init(void **comm, int size, const struct nccl_id *id, int rank, int most_blocks)
{
    int file = open(id->bytes, O_RDWR | O_CLOEXEC);
    struct nccl_link *l;

    if (emulate_fails(__func__))
        return NCCL_INTERNAL_ERROR;
    if (file < 0 || size > NCCL_RANKS || most_blocks < 1)
        return 1;
    if (nccl_has_link() && !nccl_is_ordered())
        return NCCL_INVALID_USAGE;
    l = calloc(1, sizeof *l);
    *l = (struct nccl_link){.rank = rank, .size = size, .most_blocks = most_blocks};
    l->world = mmap(NULL, sizeof *l->world, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    const char *host = getenv("NCCL_HOSTID");
    l->world->places[rank].host = hash_text(HASH_BEGIN, host ? host : "this host");
    l->world->places[rank].gpu = (uint64_t)emulate_device;
    if (atomic_fetch_add(&l->world->present, 1) + 1 == size)
        unlink(id->bytes);
    l->next = nccl_links;
    nccl_links = l;
    *comm = l;
    return NCCL_IN_PROGRESS;
}

static bool nccl_has_two_on_one(const struct nccl_link *l)
{
    for (int i = 0; i < l->size; i++)
        for (int j = 0; j < i; j++)
            if (l->world->places[i].host == l->world->places[j].host &&
                l->world->places[i].gpu == l->world->places[j].gpu)
                return true;
    return false;
}

static int nccl_async(void *comm, int *result)
{
    const struct nccl_link *l = comm;

    if (emulate_fails(__func__))
        return NCCL_INTERNAL_ERROR;
    *result = l->world->mixed ? NCCL_INVALID_USAGE
              : l->world->gone || emulate_fails("nccl_remote") ? REMOTE_ERROR
              : l->world->present < l->size ? NCCL_IN_PROGRESS
              : nccl_has_two_on_one(l)      ? NCCL_INVALID_USAGE
                                            : NCCL_SUCCESS;
    return NCCL_SUCCESS;
}

static void nccl_add(int type, int op, char *dst, const char *src, size_t nbytes)
{
    float *f = (float *)(void *)dst;
    double *d = (double *)(void *)dst;
    int64_t *k = (int64_t *)(void *)dst;

    for (size_t i = 0; type == NCCL_FLOAT && i < nbytes / sizeof *f; i++)
        f[i] += ((const float *)(const void *)src)[i];
    for (size_t i = 0; type == NCCL_INT64 && i < nbytes / sizeof *k; i++)
        k[i] += ((const int64_t *)(const void *)src)[i];
    for (size_t i = 0; type == NCCL_DOUBLE && i < nbytes / sizeof *d; i++) {
        double v = ((const double *)(const void *)src)[i];
        d[i] = op == NCCL_SUM ? d[i] + v : d[i] > v ? d[i] : v;
    }
}

/* Combines the parts that all ranks have written into this rank's result. */
static void nccl_combine(const struct nccl_message *m, char parts[NCCL_RANKS][NCCL_PART], size_t at,
                         size_t n)
{
    const struct nccl_link *l = m->link;

    if (m->what == BROADCAST)
        memcpy(m->dst + at, parts[m->root], n);
    for (int r = 0; m->what == GATHER && r < l->size; r++)
        memcpy(m->dst + (size_t)r * m->nbytes + at, parts[r], n);
    if (m->what == REDUCE)
        memcpy(m->dst + at, parts[0], n);
    for (int r = 1; m->what == REDUCE && r < l->size; r++)
        nccl_add(m->type, m->op, m->dst + at, parts[r], n);
}

/* Returns whether this rank has written its part and another rank's is missing. */
static bool nccl_is_blocked(const void *args, size_t state)
{
    const struct nccl_message *m = args;
    const struct nccl_link *l = m->link;

    for (int r = 0; state % 2 && r < l->size; r++)
        if (l->world->written[r] <= l->done)
            return !l->aborted;
    return false;
}

/* Returns whether all ranks do the same, in the same recording or none. */
static bool nccl_is_uniform(const struct nccl_link *l)
{
    const struct nccl_tag *tags = l->world->tags[l->done % 2];

    for (int r = 1; r < l->size; r++)
        if (memcmp(&tags[r], &tags[0], sizeof *tags) != 0)
            return false;
    return true;
}

/* *state: bytes completed; its lowest bit says whether the next part is written. */
static bool nccl_move_on(void *args, size_t *state)
{
    const struct nccl_message *m = args;
    struct nccl_link *l = m->link;

    if (m->turn && m->turn != l->nfinished + 1 && !l->aborted)
        return false;
    while (*state / 2 < m->nbytes && !l->aborted) {
        size_t at = *state / 2, n = m->nbytes - at < NCCL_PART ? m->nbytes - at : NCCL_PART;
        char(*parts)[NCCL_PART] = l->world->parts[l->done % 2];
        if (*state % 2 == 0) {
            memcpy(parts[l->rank], m->src + at, n);
            l->world->tags[l->done % 2][l->rank] = m->tag;
            l->world->written[l->rank]++;
            *state |= 1;
        }
        for (int r = 0; r < l->size; r++)
            if (l->world->written[r] <= l->done)
                return false;
        if (!nccl_is_uniform(l)) {
            l->world->mixed = 1;
            return false;
        }
        nccl_combine(m, parts, at, n);
        l->done++;
        *state = 2 * (at + n);
    }
    l->nfinished += m->turn != 0;
    return true;
}

/* Gives the message its place in the recording that the stream is making. */
static int nccl_tag_message(struct nccl_message *m, cudaStream_t s)
{
    struct nccl_link *l = m->link;
    const char *registers = getenv("NCCL_GRAPH_REGISTER");

    m->tag = (struct nccl_tag){0, 0, (int)m->what, m->type, m->op, m->root, m->nbytes};
    if (!s->capturing)
        return NCCL_SUCCESS;
    if (!registers || strcmp(registers, "0") != 0) /* is not emulated */
        return NCCL_INTERNAL_ERROR;
    if (l->ncaptures != s->ncaptures) {
        l->ncaptures = s->ncaptures;
        l->nrecordings++;
        l->place = 0;
    }
    m->tag.recording = l->nrecordings;
    m->tag.place = ++l->place;
    return NCCL_SUCCESS;
}

static int nccl_queue(struct nccl_message m, void *stream)
{
    int rc = nccl_tag_message(&m, emulate_origin(stream));

    if (rc != NCCL_SUCCESS)
        return rc;
    m.turn = m.tag.recording ? 0 : ++m.link->nqueued;
    emulate_add(stream, (struct emulate_work){.try = nccl_move_on, .is_blocked = nccl_is_blocked,
                                              .nargs = sizeof m, .nheld = &m.link->nheld,
                                              .args = emulate_copy_args(&m, sizeof m)});
    return NCCL_SUCCESS;
}

static size_t nccl_bytes(int type, size_t n)
{
    return n * (type == NCCL_BYTE ? 1 : type == NCCL_FLOAT ? 4 : 8);
}

static int nccl_all_reduce(const void *src, void *dst, size_t n, int type, int op, void *comm,
                           void *stream)
{
    const struct nccl_link *l = comm;

    if (emulate_fails(l->most_blocks == 1 ? "nccl_urgent_reduce" : __func__))
        return NCCL_INTERNAL_ERROR;
    return nccl_queue((struct nccl_message){REDUCE, src, dst, nccl_bytes(type, n), type, op, 0,
                                            comm, {0}, 0}, stream);
}

static int nccl_broadcast(const void *src, void *dst, size_t n, int type, int root, void *comm,
                          void *stream)
{
    if (emulate_fails(__func__))
        return NCCL_INTERNAL_ERROR;
    return nccl_queue((struct nccl_message){BROADCAST, src, dst, nccl_bytes(type, n), type, 0, root,
                                            comm, {0}, 0}, stream);
}

static int nccl_all_gather(const void *src, void *dst, size_t n, int type, void *comm, void *stream)
{
    if (emulate_fails(__func__))
        return NCCL_INTERNAL_ERROR;
    return nccl_queue((struct nccl_message){GATHER, src, dst, nccl_bytes(type, n), type, 0, 0,
                                            comm, {0}, 0}, stream);
}

/* *state as for nccl_move_on; root is the peer. */
static bool nccl_swap_is_blocked(const void *args, size_t state)
{
    const struct nccl_message *m = args;
    const struct nccl_link *l = m->link;

    return !l->aborted && (state % 2 ? l->world->to[m->root] != l->rank + 1
                                     : l->world->to[l->rank] != 0);
}

static bool nccl_swap(void *args, size_t *state)
{
    const struct nccl_message *m = args;
    struct nccl_link *l = m->link;

    while (*state / 2 < m->nbytes && !l->aborted) {
        size_t at = *state / 2, n = m->nbytes - at < NCCL_PART ? m->nbytes - at : NCCL_PART;
        if (nccl_swap_is_blocked(args, *state))
            return false;
        if (*state % 2 == 0) {
            memcpy(l->world->boxes[l->rank], m->src + at, n);
            l->world->to[l->rank] = m->root + 1;
            *state |= 1;
        } else {
            memcpy(m->dst + at, l->world->boxes[m->root], n);
            l->world->to[m->root] = 0;
            *state = 2 * (at + n);
        }
    }
    return true;
}

static int nccl_exchange(const void *src, void *dst, size_t nbytes, int peer, void *comm,
                         void *stream)
{
    struct nccl_message m = {.src = src, .dst = dst, .nbytes = nbytes, .root = peer, .link = comm};

    if (emulate_fails(__func__) || peer < 0 || peer >= m.link->size || peer == m.link->rank)
        return NCCL_INTERNAL_ERROR;
    emulate_add(stream, (struct emulate_work){.try = nccl_swap, .is_blocked = nccl_swap_is_blocked,
                                              .nargs = sizeof m, .nheld = &m.link->nheld,
                                              .args = emulate_copy_args(&m, sizeof m)});
    return NCCL_SUCCESS;
}

static int nccl_finalize(void *comm)
{
    (void)comm;
    return NCCL_SUCCESS;
}

static int nccl_destroy(void *comm)
{
    struct nccl_link *l = comm;

    l->aborted = true;
    return NCCL_SUCCESS;
}

static int nccl_abort(void *comm)
{
    struct nccl_link *l = comm;

    l->world->gone = 1;
    l->aborted = true;
    while (l->nheld > 0) {
        emulate_finish();
        usleep(1000);
    }
    return NCCL_SUCCESS;
}

static const char *nccl_error(int result)
{
    return result == REMOTE_ERROR        ? "remote process exited or there was a network error"
           : result == NCCL_INTERNAL_ERROR ? "internal error"
           : result == NCCL_INVALID_USAGE  ? "invalid usage"
                                           : "emulated error";
}

static const char *nccl_last_error(void *comm)
{
    const struct nccl_link *l = comm;

    return l->world->mixed        ? "ranks do not record or replay the same"
           : nccl_has_two_on_one(l) ? "Duplicate GPU detected"
                                    : "";
}

static const struct nccl_calls nccl_emulated = {
    .get_version = nccl_version,
    .get_id = nccl_get_id,
    .init = nccl_init,
    .get_async_error = nccl_async,
    .all_reduce = nccl_all_reduce,
    .broadcast = nccl_broadcast,
    .all_gather = nccl_all_gather,
    .exchange = nccl_exchange,
    .finalize = nccl_finalize,
    .destroy = nccl_destroy,
    .abort = nccl_abort,
    .get_error_string = nccl_error,
    .get_last_error = nccl_last_error,
};

const struct nccl_calls *nccl_library_open(struct err *e)
{
    (void)e;
    return &nccl_emulated;
}
