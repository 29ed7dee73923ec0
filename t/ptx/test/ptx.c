/* SPDX-License-Identifier: BSD-3-Clause */
/* The interpreter of PTX on kernels written by hand: faults that it promises to notice, each beside
 * the same kernel without the fault; launches that it refuses; arithmetic whose results are known;
 * and what it counts. Accesses of a size that it does not support have no test. */
#include "config.h"

#include "t/ptx/ptx.h"
#include "t/tap.h"

#define NTHREADS 64
#define NSHARED 1024
#define NWORDS 128

static struct memory {
    uint32_t in[NWORDS], out[NWORDS];
} memory __attribute__((aligned(64)));

static const struct args {
    uint32_t *out, *in;
} args = {memory.out, memory.in};

/* %rd1: out, %rd2: in, %r1: tid, %r2: 4 tid, %rd3: out + 4 tid, %rd4: in + 4 tid, %r3: shared +
 * 4 tid */
static const char before[] = ".version 9.0\n"
                             ".target sm_80\n"
                             ".address_size 64\n"
                             ".extern .shared .align 16 .b8 shared[];\n"
                             ".entry _Z4test4args(\n"
                             ".param .align 8 .b8 test_param_0[16]\n"
                             ")\n"
                             ".maxntid 64, 1, 1\n"
                             "{\n"
                             ".reg .pred %p<8>;\n"
                             ".reg .b16 %rs<8>;\n"
                             ".reg .b32 %r<32>;\n"
                             ".reg .f32 %f<32>;\n"
                             ".reg .f64 %fd<8>;\n"
                             ".reg .b64 %rd<16>;\n"
                             "ld.param.u64 %rd1, [test_param_0];\n"
                             "ld.param.u64 %rd2, [test_param_0+8];\n"
                             "mov.u32 %r1, %tid.x;\n"
                             "shl.b32 %r2, %r1, 2;\n"
                             "cvt.u64.u32 %rd5, %r2;\n"
                             "add.s64 %rd3, %rd1, %rd5;\n"
                             "add.s64 %rd4, %rd2, %rd5;\n"
                             "mov.u32 %r4, shared;\n"
                             "add.s32 %r3, %r4, %r2;\n";
static const char after[] = "ret;\n}\n";

/* NULL: it ran. */
static const char *run(const char *body, unsigned arch, struct ptx_launch launch)
{
    static char why[PTX_WHY];
    char text[8192];
    struct ptx *p = ptx_new(arch);

    snprintf(text, sizeof text, "%s%s%s", before, body, after);
    for (uint32_t i = 0; i < NWORDS; i++) {
        memory.in[i] = i;
        memory.out[i] = 0xdeadbeef;
    }
    bool fine = ptx_add(p, "test", text, why);
    if (fine) {
        ptx_add_registers(p, "ptxas info    : Compiling entry function '_Z4test4args' for 'sm_80'\n"
                             "ptxas info    : Used 40 registers, used 1 barriers\n");
        fine = ptx_launch(p, &launch, why);
    }
    ptx_free(p);
    return fine ? NULL : why;
}

static struct ptx_launch usual(void)
{
    return (struct ptx_launch){"test", 1, NTHREADS, NSHARED, &args, sizeof args, 1};
}

/* ---- faults */

static const struct {
    const char *what, *right, *wrong, *why;
} faults[] = {
    {"a read behind an allocation", "ld.global.u32 %r5, [%rd4];",
     "ld.global.u32 %r5, [%rd4+1020];", "outside of all memory"},
    {"a write before an allocation", "st.global.u32 [%rd3+-512], %r1;",
     "st.global.u32 [%rd3+-516], %r1;", "outside of all memory"},
    {"a misaligned read", "ld.global.u32 %r5, [%rd4+4];", "ld.global.u32 %r5, [%rd4+2];",
     "misaligned"},
    {"a misaligned vector", "ld.global.v2.u32 {%r5, %r6}, [%rd2+8];",
     "ld.global.v2.u32 {%r5, %r6}, [%rd2+4];", "8 bytes at"},
    {"a parameter that is not there", "ld.param.u64 %rd6, [test_param_0+8];",
     "ld.param.u64 %rd6, [test_param_0+16];", "of 16 bytes of parameters"},
    {"a write outside of shared memory", "st.shared.u32 [%r3+768], %r1;",
     "st.shared.u32 [%r3+772], %r1;", "4 bytes at 1024 of 1024 bytes of shared memory"},
    {"a misaligned write to shared memory", "st.shared.u32 [%r3+4], %r1;",
     "st.shared.u32 [%r3+1], %r1;", "misaligned"},
    {"shared memory that nothing has written",
     "st.shared.u32 [%r3], %r1; ld.shared.u32 %r5, [%r3];",
     "st.shared.u32 [%r3], %r1; ld.shared.u32 %r5, [%r3+256];", "nothing has written"},
    {"a race for global memory", "st.global.u32 [%rd3], %r1;", "st.global.u32 [%rd1], %r1;",
     "a race with thread"},
    {"a race between warps: reading",
     "st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4+128];",
     "st.shared.u32 [%r3], %r1; ld.shared.u32 %r5, [%r4+128];", "a race with thread 32"},
    {"a race between warps: writing", "st.shared.u32 [%r3], %r1;", "st.shared.u32 [%r4], %r1;",
     "a race with thread"},
    {"a race between warps: writing what is read",
     "st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4+4]; bar.sync 0;"
     "st.shared.u32 [%r3], %r1;",
     "st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4+4];"
     "st.shared.u32 [%r3], %r1;",
     "which read there"},
    {"a race within a warp",
     "xor.b32 %r6, %r3, 4; st.shared.u32 [%r3], %r1; bar.warp.sync -1; ld.shared.u32 %r5, [%r6];",
     "xor.b32 %r6, %r3, 4; st.shared.u32 [%r3], %r1; ld.shared.u32 %r5, [%r6];",
     "a race with thread"},
    {"an atomic beside a plain write",
     "st.shared.u32 [%r3], 0; bar.sync 0; atom.shared.add.u32 %r5, [%r4], 1; bar.sync 0;"
     "st.shared.u32 [%r3], 0;",
     "st.shared.u32 [%r3], 0; bar.sync 0; atom.shared.add.u32 %r5, [%r4], 1;"
     "st.shared.u32 [%r3], 0;",
     "a race"},
    {"a barrier in divergent code", "setp.lt.u32 %p1, %r1, 64; @%p1 bra $A; ret;\n$A:\nbar.sync 0;",
     "setp.lt.u32 %p1, %r1, 40; @%p1 bra $A; ret;\n$A:\nbar.sync 0;", "only lanes 0xff of a warp"},
    {"a barrier that a warp does not reach",
     "setp.lt.u32 %p1, %r1, 64; @%p1 bra $A; ret;\n$A:\nbar.sync 0;",
     "setp.lt.u32 %p1, %r1, 32; @%p1 bra $A; ret;\n$A:\nbar.sync 0;",
     "not all warps of the block reach"},
    {"lanes at two barriers",
     "setp.lt.u32 %p1, %r1, 64; @%p1 bra $A; bar.sync 0; ret;\n$A:\nbar.sync 0;",
     "setp.lt.u32 %p1, %r1, 16; @%p1 bra $A; bar.sync 0; ret;\n$A:\nbar.sync 0;",
     "wait for the others"},
    {"a warp's barrier in divergent code",
     "setp.lt.u32 %p1, %r1, 64; @!%p1 bra $A; bar.warp.sync -1;\n$A:\n",
     "setp.lt.u32 %p1, %r1, 16; @!%p1 bra $A; bar.warp.sync -1; ret;\n$A:\n", "lanes 0xffff"},
    {"a copy that is still in flight",
     "shl.b32 %r6, %r1, 4; add.s32 %r7, %r4, %r6; cp.async.cg.shared.global [%r7], [%rd2], 16, 16;"
     "cp.async.wait_all; ld.shared.u32 %r5, [%r7];",
     "shl.b32 %r6, %r1, 4; add.s32 %r7, %r4, %r6; cp.async.cg.shared.global [%r7], [%rd2], 16, 16;"
     "ld.shared.u32 %r5, [%r7]; cp.async.wait_all;",
     "cp.async of thread"},
    {"a copy that nothing waits for",
     "shl.b32 %r6, %r1, 4; add.s32 %r7, %r4, %r6; cp.async.cg.shared.global [%r7], [%rd2], 16, 0;"
     "cp.async.wait_all;",
     "shl.b32 %r6, %r1, 4; add.s32 %r7, %r4, %r6; cp.async.cg.shared.global [%r7], [%rd2], 16, 0;",
     "were not waited for"},
    {"a copy from outside of memory",
     "shl.b32 %r6, %r1, 4; add.s32 %r7, %r4, %r6; cp.async.cg.shared.global [%r7], [%rd2], 16, 16;"
     "cp.async.wait_all;",
     "shl.b32 %r6, %r1, 4; add.s32 %r7, %r4, %r6; add.s64 %rd6, %rd2, 1024;"
     "cp.async.cg.shared.global [%r7], [%rd6], 16, 16; cp.async.wait_all;",
     "outside of all memory"},
    {"a trap", "setp.gt.u32 %p1, %r1, 64; @%p1 trap;", "setp.gt.u32 %p1, %r1, 32; @%p1 trap;",
     "thread 33: a trap"},
    {"an unknown instruction", "add.s32 %r5, %r1, 1;", "add.cc.s32 %r5, %r1, 1;",
     "unknown form of instruction 'add.cc.s32 %r5, %r1, 1'"},
    {"an unknown directive", ".pragma \"nounroll\";", ".local .align 4 .b8 depot[8];",
     "unknown directive '.local"},
    {"an operand of another size", "add.s32 %r5, %r1, %r2;", "add.s32 %r5, %r1, %rd2;",
     "'%rd2' has 8 bytes, the instruction wants 4"},
    {"a branch to nowhere", "bra $A;\n$A:\n", "bra $B;\n$A:\n", "a branch to '$B'"},
};

static void check_faults(void)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const char *why = run(faults[i].right, 80, usual());
        ok(why == NULL, "%s: runs without", faults[i].what);
        if (why)
            printf("# %s\n", why);
        why = run(faults[i].wrong, 80, usual());
        ok(why && strstr(why, faults[i].why), "%s: stops", faults[i].what);
        if (!why || !strstr(why, faults[i].why))
            printf("# %s\n", why ? why : "it ran");
    }
}

static void check_launches(void)
{
    static const struct {
        const char *what, *why;
        unsigned arch, nthreads;
        size_t nshared, nargs;
    } launches[] = {
        {"all that a block of sm_75 may have", NULL, 75, 64, (size_t)64 << 10, 16},
        {"more shared memory than sm_75 has", "of shared memory, sm_75 has 65536", 75, 64,
         ((size_t)64 << 10) + 16, 16},
        {"as much on sm_90", NULL, 90, 64, (size_t)227 << 10, 16},
        {"more than that", "sm_90 has", 90, 64, ((size_t)227 << 10) + 1, 16},
        {"more threads than compiled for", "128 threads, compiled for 64", 80, 128, NSHARED, 16},
        {"other parameters", "compiled for 16", 80, 64, NSHARED, 8},
        {"half a warp", "of 16 threads", 80, 16, NSHARED, 16},
    };
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++) {
        struct ptx_launch l = usual();
        l.nthreads = launches[i].nthreads;
        l.nshared = launches[i].nshared;
        l.nargs = launches[i].nargs;
        const char *why = run("", launches[i].arch, l);
        ok(launches[i].why ? why && strstr(why, launches[i].why) : !why, "a launch with %s: %s",
           launches[i].what, why ? why : "runs");
    }
    ok(ptx_new(60) == NULL, "an architecture without limits here is refused");
}

/* ---- results */

#define ALL(value) {value, value, value}

static const struct {
    const char *body; /* its result in %r5 */
    uint32_t want[3]; /* of threads 0, 1 and 33 */
} results[] = {
    {"mov.u32 %r5, %r1;", {0, 1, 33}},
    {"mad.lo.s32 %r5, %r1, 3, 7;", {7, 10, 106}},
    {"sub.s32 %r5, 1, %r1;", {1, 0, 0xffffffe0}},
    {"shr.s32 %r5, %r6, 1;", ALL(0xffffffff)},
    {"shl.b32 %r5, %r1, 31;", {0, 0x80000000, 0x80000000}},
    {"add.s32 %r6, %r1, 31; shl.b32 %r5, 1, %r6;", {0x80000000, 0, 0}},
    {"bfi.b32 %r5, %r1, 0xffffffff, 8, 8;", {0xffff00ff, 0xffff01ff, 0xffff21ff}},
    {"bfe.u32 %r5, 0xabcd1234, 8, 8;", {0x12, 0x12, 0x12}},
    {"mul.wide.u32 %rd6, %r1, 0x80000000; shr.u64 %rd7, %rd6, 32; cvt.u32.u64 %r5, %rd7;",
     {0, 0, 16}},
    {"setp.lt.u32 %p1, %r1, 1; selp.b32 %r5, 5, 6, %p1;", {5, 6, 6}},
    {"setp.eq.s32 %p1, %r1, 1; @%p1 bra $A; mov.u32 %r5, 2; bra $B;\n$A:\nmov.u32 %r5, 3;\n$B:\n",
     {2, 3, 2}},
    {"mov.u32 %r5, 0; mov.u32 %r6, 0;\n$A:\nadd.s32 %r5, %r5, %r6; add.s32 %r6, %r6, 1;"
     "setp.le.u32 %p1, %r6, %r1; @%p1 bra $A;",
     {0, 1, 561}},
    {"cvt.rn.f32.u32 %f1, %r1; fma.rn.f32 %f2, %f1, 0f40000000, 0f3F800000; mov.b32 %r5, %f2;",
     {0x3f800000, 0x40400000, 0x42860000}},
    /* Rounded towards 0, 1 + 2^-30 is 1. Rounded towards 0 or down, 1 - 2^-30 is the largest float
     * below 1. */
    {"add.rz.f32 %f1, 0f3F800000, 0f30800000; mov.b32 %r5, %f1;", ALL(0x3f800000)},
    {"add.rz.f32 %f1, 0f3F800000, 0fB0800000; mov.b32 %r5, %f1;", ALL(0x3f7fffff)},
    {"fma.rm.f32 %f1, 0f3F800000, 0f3F800000, 0fB0800000; mov.b32 %r5, %f1;",
     ALL(0x3f7fffff)},
    {"cvt.rn.bf16x2.f32 %r5, 0f3F808000, 0f3F818000;", ALL(0x3f803f82)},
    {"cvt.rn.f16.f32 %rs1, 0f477FF000; mov.b32 %r5, {%rs1, %rs1};", ALL(0x7c007c00)},
    {"cvt.rn.f16.f32 %rs1, 0f33000001; mov.b32 %r5, {%rs1, 0};", {1, 1, 1}},
    {"cvt.rn.f16.f32 %rs1, 0f387FFFFF; mov.b32 %r5, {%rs1, 0};", {0x400, 0x400, 0x400}},
    {"mov.u32 %r6, 0x3555; cvt.u16.u32 %rs1, %r6; cvt.f32.f16 %f1, %rs1; mov.b32 %r5, %f1;",
     ALL(0x3eaaa000)},
    {"max.f32 %f1, 0f7FC00000, 0f3F800000; mov.b32 %r5, %f1;", ALL(0x3f800000)},
    {"setp.leu.f32 %p1, 0f7FC00000, 0f3F800000; selp.u32 %r5, 1, 0, %p1;", {1, 1, 1}},
    {"setp.ne.f32 %p1, 0f7FC00000, 0f3F800000; selp.u32 %r5, 1, 0, %p1;", {0, 0, 0}},
    {"st.shared.u32 [%r3], %r1; bar.sync 0; xor.b32 %r6, %r3, 128; ld.shared.u32 %r5, [%r6];",
     {32, 33, 1}},
    {"st.shared.u32 [%r3], 0; bar.sync 0; atom.shared.add.u32 %r6, [%r4], 1; bar.sync 0;"
     "ld.shared.u32 %r5, [%r4];",
     {64, 64, 64}},
    {"st.shared.u32 [%r3], 0; bar.sync 0; red.shared.add.u32 [%r4], 2; bar.sync 0;"
     "ld.shared.u32 %r5, [%r4];",
     {128, 128, 128}},
    /* The rows of the matrices are what was stored; lane l of matrix 0 gets row l / 4. */
    {"shl.b32 %r6, %r1, 4; and.b32 %r6, %r6, 511; st.shared.u32 [%r3], %r1;"
     "st.shared.u32 [%r3+256], %r1; st.shared.u32 [%r3+512], %r1;"
     "st.shared.u32 [%r3+768], %r1; bar.sync 0;"
     "add.s32 %r7, %r4, %r6;"
     "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r8, %r9, %r10}, [%r7];",
     {0, 1, 1}},
    {"shl.b32 %r6, %r1, 4; and.b32 %r6, %r6, 511; st.shared.u32 [%r3], %r1;"
     "st.shared.u32 [%r3+256], %r1; st.shared.u32 [%r3+512], %r1;"
     "st.shared.u32 [%r3+768], %r1; bar.sync 0;"
     "add.s32 %r7, %r4, %r6;"
     "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r5, %r8, %r9, %r10}, [%r7];",
     {0x40000, 0xc0008, 0xc0008}},
    /* All ones: each sum has 16 products and what was there. */
    {"mov.u32 %r6, 0x3f803f80; mov.b32 %f1, 0f3F800000;"
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f2, %f3, %f4, %f5},"
     "{%r6, %r6, %r6, %r6}, {%r6, %r6}, {%f1, %f1, %f1, %f1}; mov.b32 %r5, %f5;",
     {0x41880000, 0x41880000, 0x41880000}},
};

static void check_results(void)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        char body[2048];

        snprintf(body, sizeof body, "mov.u32 %%r6, -2;\n%s\nst.global.u32 [%%rd3], %%r5;\n",
                 results[i].body);
        const char *why = run(body, 80, usual());
        bool same = memory.out[0] == results[i].want[0] && memory.out[1] == results[i].want[1] &&
                    memory.out[33] == results[i].want[2];
        ok(!why && same, "results of %.*s", (int)strcspn(results[i].body, "\n"), results[i].body);
        if (why || !same)
            printf("# %s %#x %#x %#x\n", why ? why : "", memory.out[0], memory.out[1],
                   memory.out[33]);
    }
}

/* ---- counts */

/* Compares a column of the report's first line of that kind, counted from 0. */
static void check_count(const char *what, const char *body, const char *line, unsigned column,
                        const char *want)
{
    char why[PTX_WHY], text[8192], *report = NULL, *state, *field;
    size_t n;
    struct ptx *p = ptx_new(80);
    struct ptx_launch l = usual();
    FILE *f = open_memstream(&report, &n);

    snprintf(text, sizeof text, "%s%s%s", before, body, after);
    ptx_count_footprints(p);
    bool fine = ptx_add(p, "test", text, why) && ptx_launch(p, &l, why);
    ptx_report_launch(p, &l, f);
    ptx_report(p, f);
    fclose(f);
    field = strtok_r(strstr(report, line), "\t\n", &state);
    for (unsigned k = 0; field && k < column; k++)
        field = strtok_r(NULL, "\t\n", &state);
    ok(fine, "%s: runs", what);
    is_str(field, want, "%s", what);
    free(report);
    ptx_free(p);
}

int main(void)
{
    ptx_memory_add(&memory, sizeof memory);
    check_faults();
    check_launches();
    check_results();
    check_count("wavefronts of neighbours", "st.shared.u32 [%r3], %r1;", "kernel", 12, "2");
    check_count("wavefronts of one bank",
                "shl.b32 %r5, %r1, 7; and.b32 %r5, %r5, 1023; add.s32 %r5, %r4, %r5;"
                "setp.lt.u32 %p1, %r1, 8; @%p1 st.shared.u32 [%r5], %r1;",
                "kernel", 12, "8");
    check_count("their ideal",
                "shl.b32 %r5, %r1, 7; and.b32 %r5, %r5, 1023; add.s32 %r5, %r4, %r5;"
                "setp.lt.u32 %p1, %r1, 8; @%p1 st.shared.u32 [%r5], %r1;",
                "kernel", 13, "1");
    check_count("sectors of neighbours", "ld.global.u32 %r5, [%rd4];", "kernel", 14, "8");
    check_count("sectors of one address", "ld.global.u32 %r5, [%rd2];", "kernel", 14, "2");
    check_count("barriers", "bar.sync 0; bar.sync 0;", "kernel", 11, "2");
    check_count("registers are not float", "add.s32 %r5, %r1, %r1;", "launch", 7, "0");
    check_count("instructions of floats", "add.rn.f32 %f1, %f2, %f3; mov.f32 %f1, %f2;",
                "launch", 7, "2");
    check_count("and of doubles", "add.rn.f64 %fd1, %fd2, %fd3;", "launch", 8, "2");
    check_count("sectors that are read twice",
                "ld.global.u32 %r5, [%rd4]; ld.global.u32 %r6, [%rd4];", "launch", 12, "8");
    check_count("and that are read and written",
                "ld.global.u32 %r5, [%rd3]; st.global.u32 [%rd3], %r5;", "launch", 12, "16");
    ptx_memory_remove(&memory);
    ok(run("ld.global.u32 %r5, [%rd4];", 80, usual()) != NULL, "memory that was given back");
    return done_testing();
}
