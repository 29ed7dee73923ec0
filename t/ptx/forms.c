/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic of PTX over the 32 lanes of a warp. Written from the PTX manual, and not with what the
 * trainer's own conversions do, so that neither hides a fault of the other. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "t/ptx/machine.h"
#include "trainer/core/vector_clones.h"

typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32, pred;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef float f32;
typedef double f64;

static u32 bit_field(u32 a, u32 position, u32 length)
{
    position &= 0xff;
    length &= 0xff;
    if (position > 31 || length == 0)
        return 0;
    return length > 31 ? a >> position : a >> position & ((1u << length) - 1);
}

static u32 insert_bits(u32 a, u32 into, u32 position, u32 length)
{
    position &= 0xff;
    length &= 0xff;
    if (position > 31)
        return into;
    u32 mask = (length > 31 ? ALL_LANES : (1u << length) - 1) << position;
    return (into & ~mask) | (a << position & mask);
}

/* The nearest number to x + y, and what it lacks, exactly. */
static f64 two_sum(f64 x, f64 y, f64 *rest)
{
    volatile f64 sum = x + y, back = sum - x;

    *rest = x - (sum - back) + (y - back);
    return sum;
}

/* A product of two floats is exact as a double. */
static f32 fma_down(f32 a, f32 b, f32 c)
{
    f64 rest, sum = two_sum((f64)a * b, c, &rest);
    f32 near = (f32)sum;

    if (!isfinite(near))
        return near;
    return near > sum || (near == sum && rest < 0) ? nextafterf(near, -INFINITY) : near;
}

static f32 add_to_zero(f32 a, f32 b)
{
    f64 rest, sum = two_sum(a, b, &rest);
    f32 near = (f32)sum;

    if (!isfinite(near))
        return near;
    if (sum > 0)
        return near > sum || (near == sum && rest < 0) ? nextafterf(near, 0) : near;
    return near < sum || (near == sum && rest > 0) ? nextafterf(near, 0) : near;
}

/* What the hardware returns of an approximate reciprocal. */
static f64 high_word(f64 v)
{
    u64 bits;

    memcpy(&bits, &v, sizeof bits);
    bits &= ~(u64)0xffffffff;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static u32 to_u32(f32 v)
{
    return v >= 4294967296.0F ? ALL_LANES : v > 0 ? (u32)v : 0;
}

static f32 as_float(u32 bits)
{
    f32 v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

static u32 as_bits(f32 v)
{
    u32 bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* The exponents of the two types differ by 112; that of infinity and NaN is set apart. */
static f32 from_half(u16 h)
{
    u32 size = (h & 0x7fffu) << 13;
    f32 v = as_float(size) * 0x1p112F;

    v = size >= 0x7c00u << 13 ? as_float(0x7f800000 | size) : v;
    return h >> 15 ? -v : v;
}

/* Below 2^-14 the numbers of a half are multiples of 2^-24, which are those of a float at 0.5. */
static u16 to_half(f32 v)
{
    u32 bits = as_bits(v) & 0x7fffffff, sign = as_bits(v) >> 16 & 0x8000;
    u32 small = as_bits(as_float(bits) + 0.5F) - as_bits(0.5F);
    u32 normal = (bits + 0xfff + (bits >> 13 & 1) - (112u << 23)) >> 13;
    u32 size = bits >= 0x477ff000 ? 0x7c00 : bits < 0x38800000 ? small : normal;

    return (u16)(bits > 0x7f800000 ? 0x7fff : sign | size);
}

static f32 from_bf16(u16 h)
{
    return as_float((u32)h << 16);
}

static u16 to_bf16(f32 v)
{
    u32 bits = as_bits(v);

    return (u16)((bits & 0x7fffffff) > 0x7f800000 ? 0x7fff
                                                  : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The result may lie where a source does: each lane reads before it writes. */
#ifdef __clang__
#define EACH_LANE for (unsigned l = 0; l < LANES; l++)
#else
#define EACH_LANE _Pragma("GCC ivdep") for (unsigned l = 0; l < LANES; l++)
#endif
#define F1(name, opcode, t, ta, value)                        \
    VECTOR_CLONES static void name(void *out, void *const *in) \
    {                                                         \
        t *r = out;                                           \
        const ta *pa = in[0];                                 \
        EACH_LANE                                             \
        {                                                     \
            ta a = pa[l];                                     \
            r[l] = value;                                     \
        }                                                     \
    }
#define F2(name, opcode, t, ta, tb, value)                    \
    VECTOR_CLONES static void name(void *out, void *const *in) \
    {                                                         \
        t *r = out;                                           \
        const ta *pa = in[0];                                 \
        const tb *pb = in[1];                                 \
        EACH_LANE                                             \
        {                                                     \
            ta a = pa[l];                                     \
            tb b = pb[l];                                     \
            r[l] = value;                                     \
        }                                                     \
    }
#define F3(name, opcode, t, ta, tb, tc, value)                \
    VECTOR_CLONES static void name(void *out, void *const *in) \
    {                                                         \
        t *r = out;                                           \
        const ta *pa = in[0];                                 \
        const tb *pb = in[1];                                 \
        const tc *pc = in[2];                                 \
        EACH_LANE                                             \
        {                                                     \
            ta a = pa[l];                                     \
            tb b = pb[l];                                     \
            tc c = pc[l];                                     \
            r[l] = value;                                     \
        }                                                     \
    }
#define F4(name, opcode, t, ta, tb, tc, td, value)            \
    VECTOR_CLONES static void name(void *out, void *const *in) \
    {                                                         \
        t *r = out;                                           \
        const ta *pa = in[0];                                 \
        const tb *pb = in[1];                                 \
        const tc *pc = in[2];                                 \
        const td *pd = in[3];                                 \
        EACH_LANE                                             \
        {                                                     \
            ta a = pa[l];                                     \
            tb b = pb[l];                                     \
            tc c = pc[l];                                     \
            td d = pd[l];                                     \
            r[l] = value;                                     \
        }                                                     \
    }
#include "t/ptx/forms.inc"
#undef F1
#undef F2
#undef F3
#undef F4
#undef MOVE
#undef INTEGER
#undef COMPARE
#undef FLOATING

#define F1(name, opcode, t, ta, value) {opcode, name, 1, {sizeof(t), sizeof(ta)}},
#define F2(name, opcode, t, ta, tb, value) {opcode, name, 2, {sizeof(t), sizeof(ta), sizeof(tb)}},
#define F3(name, opcode, t, ta, tb, tc, value) \
    {opcode, name, 3, {sizeof(t), sizeof(ta), sizeof(tb), sizeof(tc)}},
#define F4(name, opcode, t, ta, tb, tc, td, value) \
    {opcode, name, 4, {sizeof(t), sizeof(ta), sizeof(tb), sizeof(tc), sizeof(td)}},
static struct form {
    const char *opcode;
    arithmetic run;
    unsigned nsources;
    unsigned nbytes[5];
} forms[] = {
#include "t/ptx/forms.inc"
};

static int compare_forms(const void *a, const void *b)
{
    return strcmp(((const struct form *)a)->opcode, ((const struct form *)b)->opcode);
}

arithmetic find_form(const char *opcode, unsigned *nsources, unsigned nbytes[5])
{
    static bool sorted;
    struct form key = {.opcode = opcode};

    if (!sorted)
        qsort(forms, sizeof forms / sizeof *forms, sizeof *forms, compare_forms);
    sorted = true;
    const struct form *f = bsearch(&key, forms, sizeof forms / sizeof *forms, sizeof *forms,
                                   compare_forms);
    if (!f)
        return NULL;
    *nsources = f->nsources;
    memcpy(nbytes, f->nbytes, sizeof f->nbytes);
    return f->run;
}
