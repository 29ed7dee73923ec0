/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects AMX tiles, checks that they compute correctly, and multiplies matrices of any number of
 * tiles. */
#include "config.h"
#include "trainer/backends/cpu/isa/amx_tiles.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "src/log.h"
#include "trainer/backends/cpu/isa/bf16.h"
#include "trainer/backends/cpu/isa/simd.h"

#define MOST 4 /* tiles of a trial in each direction, or lines of try_lines(), at most */

#if defined(__x86_64__) && defined(__linux__)
#define REQUEST_PERMISSION 0x1023 /* ARCH_REQ_XCOMP_PERM */
#define TILE_DATA 18              /* index of the tiles in the processor's extended state */
#define TILE_STATE (3ULL << 17)   /* bits of configuration and data in XCR0 */

static uint64_t enabled_state(void)
{
    uint32_t low, high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* CPUID leaf 1 has OSXSAVE; leaf 7 has AMX-BF16 and AMX-TILE in EDX. Leaf 0x1d, palette 1, has the
 * bytes of a row and the number of tiles in EBX, and the rows in ECX. */
static bool processor_has_tiles(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & 1U << 27) &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & 1U << 22) && (d & 1U << 24) &&
           (enabled_state() & TILE_STATE) == TILE_STATE &&
           __get_cpuid_count(0x1d, 1, &a, &b, &c, &d) && (b & 0xffff) >= 64 && b >> 16 >= 8 &&
           (c & 0xffff) >= AMX_TILES_ROWS;
}

/* Asks Linux to permit tiles for this process and its threads, permanently. */
static bool kernel_permits_tiles(void)
{
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

static const struct amx_tiles *usable;

static void find_usable(void)
{
    const char *fault;

    if (!simd_has_bf16() || !processor_has_tiles() || !kernel_permits_tiles())
        return;
    fault = amx_tiles_fault(&amx_tiles_real);
    if (fault)
        log_warn("the processor's tiles (AMX) %s; bf16 is computed without them, slower", fault);
    else
        usable = &amx_tiles_real;
}

static const struct amx_tiles *find_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_usable);
    return usable;
}
#else
static const struct amx_tiles *find_once(void)
{
    return NULL;
}
#endif

const struct amx_tiles *amx_tiles_best(void)
{
    const char *limit = getenv("UNET_ISA");

    if (limit && strcmp(limit, "amx-emulated") == 0)
        return &amx_tiles_emulated;
    return limit ? NULL : find_once();
}

void amx_tiles_multiply(const struct amx_tiles *tiles, const struct amx_product *p, size_t m,
                        size_t n)
{
    size_t across = n % 2 == 0   ? 2
                    : n % 3 == 0 ? 3
                                 : 1,
           most = across == 1   ? 4
                  : across == 2 ? 2
                                : 1;
    amx_product_f *const blocks[2][3] = {
        {tiles->one_by_one, tiles->one_by_two, tiles->one_by_three},
        /* [whether there are `most` tiles down, or one][tiles across - 1] */
        {tiles->four_by_one, tiles->two_by_two, tiles->one_by_three}};

    for (size_t j = 0; j < n; j += across)
        for (size_t i = 0, down; i < m; i += down) {
            struct amx_product part = *p;

            down = m - i >= most ? most : 1;
            part.a.at += i * p->a.tile;
            part.b.at += j * p->b.tile;
            part.from += i * p->from_m + j * p->from_n;
            part.to += i * p->to_m + j * p->to_n;
            blocks[down == most][across - 1](&part);
        }
}

void amx_tiles_lines(const struct amx_tiles *tiles, const struct amx_product *p, size_t nlines,
                     size_t m, size_t n)
{
    for (size_t j = 0; j < n; j++)
        for (size_t l = 0; l < nlines;) {
            struct amx_product part = *p;

            part.a.at += l * p->a.window;
            part.b.at += j * p->b.tile;
            part.from += j * p->from_n;
            part.to += l * p->to_line + j * p->to_n;
            if (nlines - l >= AMX_TILES_LINES) {
                tiles->four_lines(&part, m);
                l += AMX_TILES_LINES;
                continue;
            }
            for (size_t i = 0; i < m; i++, part.a.at += p->a.tile, part.to += p->to_m)
                tiles->one_by_one(&part);
            l++;
        }
}

/* The operands of a trial: products of whole numbers, whose sums are exact. try() multiplies m
 * tiles of a and n of b, each with STEPS steps in STEPS windows. */
#define STEPS 2
#define WINDOWS 3 /* of try_lines() */
#define TILE_NUMBERS (AMX_TILES_ROWS * AMX_TILES_DEPTH)
#define TILE_SUMS (AMX_TILES_ROWS * AMX_TILES_COLUMNS)

struct trial {
    uint16_t a[MOST][STEPS * STEPS][TILE_NUMBERS], b[MOST][STEPS * STEPS][TILE_NUMBERS];
    float from[AMX_TILES_COLUMNS], to[MOST][MOST][TILE_SUMS];
};

/* Returns a number from -2 to 2. */
static uint16_t number(size_t i)
{
    return bf16_from_float((float)((int)(i * 2654435761U >> 7 & 0xffff) % 5 - 2));
}

static void fill(struct trial *t)
{
    uint16_t *a = &t->a[0][0][0], *b = &t->b[0][0][0];

    for (size_t i = 0; i < sizeof t->a / sizeof *a; i++) {
        a[i] = number(i);
        b[i] = number(i + 77);
    }
    for (size_t i = 0; i < AMX_TILES_COLUMNS; i++)
        t->from[i] = bf16_to_float(number(i)) + 100;
}

static float expected(const struct trial *t, const struct amx_shape *s, size_t m, size_t n,
                      size_t row, size_t column)
{
    float sum = t->from[column];

    for (size_t i = 0; i < STEPS * STEPS; i++)
        for (size_t k = 0; k < s->depth; k++)
            sum += bf16_to_float(t->a[m][i][row * AMX_TILES_DEPTH + k]) *
                   bf16_to_float(t->b[n][i][k / 2 * 2 * AMX_TILES_COLUMNS + 2 * column + k % 2]);
    return sum;
}

static bool is_right(const struct trial *t, const struct amx_shape *s, size_t m, size_t n)
{
    for (size_t row = 0; row < AMX_TILES_ROWS; row++)
        for (size_t i = 0; i < AMX_TILES_COLUMNS; i++) {
            bool inside = row < s->rows && i < s->columns;

            if (t->to[m][n][row * AMX_TILES_COLUMNS + i] !=
                (inside ? expected(t, s, m, n, row, i) : 7))
                return false;
        }
    return true;
}

static bool try(const struct amx_tiles *tiles, struct trial *t, const struct amx_shape *s, size_t m,
                size_t n)
{
    const size_t window = STEPS * TILE_NUMBERS, tile = STEPS * window;
    const struct amx_product p = {
        {&t->a[0][0][0], AMX_TILES_DEPTH, tile, TILE_NUMBERS, window},
        {&t->b[0][0][0], 2 * AMX_TILES_COLUMNS, tile, TILE_NUMBERS, window},
        STEPS, STEPS, t->from, 0, 0, 0,
        &t->to[0][0][0], AMX_TILES_COLUMNS, MOST * TILE_SUMS, TILE_SUMS, 0};
    float *to = &t->to[0][0][0];
    bool right = true;

    for (size_t i = 0; i < sizeof t->to / sizeof *to; i++)
        to[i] = 7;
    tiles->begin(s);
    amx_tiles_multiply(tiles, &p, m, n);
    tiles->end();
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            right = right && is_right(t, s, i, j);
    return right;
}

/* Returns a sum whose windows begin with tile number `first` of a. The steps of a line follow each
 * other, and so do the lines. */
static float expected_of_lines(const struct trial *t, const struct amx_shape *s, size_t nsteps,
                               size_t first, size_t row, size_t column)
{
    const uint16_t *a = &t->a[0][0][0] + first * TILE_NUMBERS, *b = &t->b[0][0][0];
    float sum = t->from[column];

    for (size_t i = 0; i < WINDOWS * nsteps; i++, a += TILE_NUMBERS, b += TILE_NUMBERS)
        for (size_t k = 0; k < s->depth; k++)
            sum += bf16_to_float(a[row * AMX_TILES_DEPTH + k]) *
                   bf16_to_float(b[k / 2 * 2 * AMX_TILES_COLUMNS + 2 * column + k % 2]);
    return sum;
}

static bool try_lines(const struct amx_tiles *tiles, struct trial *t, const struct amx_shape *s,
                      size_t nlines, size_t m, size_t nsteps)
{
    const size_t window = nsteps * TILE_NUMBERS, all = MOST + WINDOWS - 1;
    const struct amx_product p = {
        .a = {&t->a[0][0][0], AMX_TILES_DEPTH, all * window, TILE_NUMBERS, window},
        .b = {&t->b[0][0][0], 2 * AMX_TILES_COLUMNS, 0, TILE_NUMBERS, window},
        .nwindows = WINDOWS, .nsteps = nsteps, .from = t->from, .to = &t->to[0][0][0],
        .to_row = AMX_TILES_COLUMNS, .to_m = TILE_SUMS, .to_line = MOST * TILE_SUMS};
    bool right = true;

    tiles->begin(s);
    amx_tiles_lines(tiles, &p, nlines, m, 1);
    tiles->end();
    for (size_t l = 0; l < nlines; l++)
        for (size_t i = 0; i < m; i++)
            for (size_t k = 0; k < s->rows * s->columns; k++)
                right = right &&
                        t->to[l][i][k] == expected_of_lines(t, s, nsteps, (i * all + l) * nsteps,
                                                            k / s->columns, k % s->columns);
    return right;
}

static sigjmp_buf back;

static void leave(int signal)
{
    siglongjmp(back, signal);
}

static const char *try_all(const struct amx_tiles *tiles, struct trial *t)
{
    static const struct amx_shape shapes[] = {{16, 16, 32, false},
                                              {16, 16, 24, false},
                                              {8, 12, 32, false},
                                              {16, 12, 16, false},
                                              {8, 16, 8, false}};
    static const struct amx_shape of_lines[] = {{16, 16, 32, true}, {16, 16, 24, true}};

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t m = 1; m <= MOST; m++)
            for (size_t n = 1; n <= MOST; n++)
                if (!try(tiles, t, &shapes[i], m, n))
                    return "give wrong results";
    for (size_t i = 0; i < sizeof of_lines / sizeof *of_lines; i++)
        for (size_t nlines = 1; nlines <= MOST; nlines++)
            if (!try_lines(tiles, t, &of_lines[i], nlines, 1, 2) ||
                !try_lines(tiles, t, &of_lines[i], nlines, 2, 1))
                return "give wrong results in lines";
    return NULL;
}

const char *amx_tiles_fault(const struct amx_tiles *tiles)
{
    struct sigaction mine = {.sa_handler = leave}, ill, segv;
    struct trial *t = malloc(sizeof *t);
    const char *volatile fault = "fault";

    if (!t)
        return "could not be tried: out of memory";
    fill(t);
    sigemptyset(&mine.sa_mask);
    sigaction(SIGILL, &mine, &ill);
    sigaction(SIGSEGV, &mine, &segv);
    if (sigsetjmp(back, 1) == 0)
        fault = try_all(tiles, t);
    sigaction(SIGILL, &ill, NULL);
    sigaction(SIGSEGV, &segv, NULL);
    free(t);
    return fault;
}
