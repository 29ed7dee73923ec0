/* SPDX-License-Identifier: BSD-3-Clause */
/* The interpreter's inside: decoded instructions, and the warps and blocks that run them.
 *
 * A register holds its 32 lanes side by side, in 2, 4 or 8 bytes each; a predicate has 4. Immediate
 * operands are registers that are filled when the text is read. */
#ifndef UNETCTL_T_PTX_MACHINE_H
#define UNETCTL_T_PTX_MACHINE_H

#include <setjmp.h>
#include <stdarg.h>

#include "t/ptx/ptx.h"

#define LANES 32
#define ALL_LANES 0xffffffffu
#define MAX_OPERANDS 16
#define MAX_WARPS 32
#define FUNCTION_BYTES (128u << 10) /* registers of all functions that kernels call */
#define SHARED_BASE 0x400u          /* where shared memory lies in its own space */
#define SHARED_WINDOW ((uint64_t)0x5a << 56) /* added to it in the generic space */
#define PARAM_WINDOW ((uint64_t)0xa5 << 56)  /* the same for parameters */
#define GRANULE 4 /* bytes of shared memory that are checked as one */

struct operand {
    void *fixed; /* an immediate's lanes */
    uint32_t offset; /* or where in the warp's registers it lies */
    uint8_t nbytes;  /* of a lane */
};

enum space { GENERIC, GLOBAL, SHARED, PARAM };

enum kind {
    ARITHMETIC, BRANCH, CALL, RETURN, TRAP, BARRIER, WARP_BARRIER, LOAD, STORE, ATOMIC_ADD, COPY,
    COPY_WAIT, LOAD_MATRIX, MULTIPLY, PACK, UNPACK
};

typedef void (*arithmetic)(void *out, void *const *in);

struct region; /* memory.c */

/* What each execution needs comes first. */
struct insn {
    enum kind kind;
    bool guarded, negated, is_signed, transposed;
    unsigned target; /* of a branch or call */
    unsigned noperands;
    arithmetic run;
    uint64_t nruns;
    struct operand guard;
    struct operand operand[MAX_OPERANDS]; /* results first; of a memory access the address, of COPY
                                           * both addresses */
    enum space space;
    unsigned nbytes, nvector; /* of a memory access: each element, and how many; of PACK and UNPACK
                               * nbytes of a half */
    int64_t displacement;
    struct region *region; /* the allocation that it used last */
    uintptr_t low, high;   /* its bounds */
    uint64_t launch;       /* in this launch */
    const char *form;    /* the opcode with its suffixes */
    char *text, *words;
    unsigned line;
};

struct counts {
    uint64_t nlaunches, nblocks, nwarp, nmultiply, nbarriers;
    uint64_t nwavefronts, nwavefronts_ideal, nsectors, nsectors_ideal;
    uint64_t nfootprint; /* sectors that a launch reads and those that it writes, once each */
};

struct kernel {
    char *name;
    unsigned first, last; /* its instructions */
    unsigned nthreads_max, nblocks_min;
    unsigned nregisters;    /* 0: not known */
    uint32_t register_bytes; /* the interpreter's, of a warp */
    size_t nparams, nstatic;
    bool dynamic; /* uses shared memory of the launch's size */
    struct counts counts;
    unsigned nthreads; /* of the last launch */
    size_t nshared;    /* most of all launches */
};

struct limits {
    unsigned arch;
    size_t shared_block, shared_processor; /* bytes: of a block, and of a processor's blocks */
    unsigned nthreads, nblocks;            /* of a processor */
    unsigned nregisters;
};

struct ptx {
    const struct limits *limits;
    struct insn *code;
    unsigned ncode, room;
    struct kernel *kernels;
    unsigned nkernels;
    uint64_t nlaunches;
    uint32_t launch;     /* the number of the last one among those of all sets */
    struct block *block; /* the one that runs; launches share its memory */
    struct footprint *footprint; /* of this launch; NULL: it is not counted */
};

/* Which threads last read and wrote 4 bytes of shared memory, and when: in which of the intervals
 * between the block's barriers, and of those between the warp's. */
struct granule {
    uint32_t wtime, rtime;   /* the block's interval; 0: never */
    uint32_t wepoch, repoch; /* the warp's, at the last access */
    uint16_t writer, reader; /* threads; of several readers, SEVERAL */
    bool atomic, in_flight;
};

struct group {
    unsigned pc;
    uint32_t mask;
    bool waits; /* at an instruction of the whole warp */
};

struct copy {
    uint32_t to;
    const void *from; /* NULL: zeros */
};

struct warp {
    unsigned index;
    unsigned char *registers;
    size_t room; /* bytes of them */
    uint32_t live, mask; /* lanes that have not returned; that run the present instruction */
    struct group group[LANES];
    unsigned ngroups;
    uint32_t epoch;
    unsigned barrier; /* where it waits: its instruction's number + 1; 0: it does not */
    struct copy *copies[LANES];
    unsigned ncopies[LANES], copy_room[LANES];
};

struct block {
    struct ptx *ptx;
    struct kernel *kernel;
    const struct ptx_launch *launch;
    unsigned index, nwarps;
    struct warp warp[MAX_WARPS];
    unsigned char *shared;
    struct granule *granules;
    size_t nshared;
    size_t shared_room, granule_room; /* bytes */
    uint32_t time;
    uint64_t random;
    jmp_buf failed;
    char *why;
};

/* Ends the launch with a message about that lane. */
__attribute__((noreturn, format(printf, 5, 6))) void
fault(struct block *b, const struct warp *w, const struct insn *i, unsigned lane, const char *fmt,
      ...);

static inline void *lanes_of(const struct warp *w, const struct operand *o)
{
    return o->fixed ? o->fixed : w->registers + o->offset;
}

/* The arithmetic that an opcode names, with the bytes of result and sources; NULL: unknown. */
arithmetic find_form(const char *opcode, unsigned *nsources, unsigned nbytes[5]);

void run_memory(struct block *b, struct warp *w, struct insn *i);
void wait_copies(struct block *b, struct warp *w, struct insn *i);
void run_load_matrix(struct block *b, struct warp *w, struct insn *i);
void run_multiply(struct warp *w, const struct insn *i);

/* Counts what a warp's access to global memory adds to the sectors of this launch. */
void footprint_add(struct ptx *p, struct kernel *k, const uint64_t *address, uint32_t mask,
                   bool writes);
void footprint_clear(struct ptx *p); /* at the start of a launch */
void footprint_free(struct ptx *p);

const struct limits *limits_of(unsigned arch);
/* Blocks that a processor holds at a time; 0: none. nregisters: 0 does not limit them. */
unsigned resident_blocks(const struct limits *l, unsigned nregisters, unsigned nthreads,
                         size_t nshared);

#endif
