/* SPDX-License-Identifier: BSD-3-Clause */
/* What a processor of some architectures holds, from "Technical Specifications per Compute
 * Capability" of the CUDA C++ Programming Guide. */
#include "config.h"

#include <string.h>

#include "t/ptx/machine.h"

#define KIB(n) ((size_t)(n) << 10)
#define RESERVED KIB(1)   /* of shared memory, for each block, since sm_80 */
#define REGISTER_UNIT 256 /* registers are given to a warp in such pieces */

static const struct limits limits[] = {
    {70, KIB(96), KIB(96), 2048, 32, 65536},    {75, KIB(64), KIB(64), 1024, 16, 65536},
    {80, KIB(163), KIB(164), 2048, 32, 65536},  {86, KIB(99), KIB(100), 1536, 16, 65536},
    {89, KIB(99), KIB(100), 1536, 24, 65536},   {90, KIB(227), KIB(228), 2048, 32, 65536},
    {100, KIB(227), KIB(228), 2048, 32, 65536}, {120, KIB(99), KIB(100), 1536, 24, 65536},
};

const struct limits *limits_of(unsigned arch)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].arch == arch)
            return &limits[i];
    return NULL;
}

static unsigned least(unsigned a, size_t b)
{
    return b < a ? (unsigned)b : a;
}

unsigned resident_blocks(const struct limits *l, unsigned nregisters, unsigned nthreads,
                         size_t nshared)
{
    unsigned nwarps = (nthreads + LANES - 1) / LANES, n = l->nblocks;
    unsigned of_warp = (nregisters * LANES + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;

    if (nthreads > 1024 || nshared > l->shared_block)
        return 0;
    n = least(n, l->nthreads / (nwarps * LANES));
    if (of_warp)
        n = least(n, l->nregisters / of_warp / nwarps);
    return nshared ? least(n, l->shared_processor / (nshared + (l->arch >= 80 ? RESERVED : 0))) : n;
}
