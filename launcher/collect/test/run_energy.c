/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of samplers become the energy of a run; where a GPU was not measured to the end, it is
 * unknown. Rows that are cut off, and restarts, are part of it. */
#include "src/base.h"
#include "launcher/collect/collect_internal.h"

#include <math.h>

#include "launcher/energy/energy.h"
#include "launcher/host/path.h"
#include "src/atomicfile.h"
#include "t/tap.h"

static struct result r;
static struct err e;

static void write_file(const char *path, const char *rows)
{
    char text[2048], dir[256];

    snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(path, '/') - path), path);
    snprintf(text, sizeof text, SAMPLER_HEADER "%s", rows);
    if (path_make_folder(dir, &e) || atomicfile_write(path, text, strlen(text), 0666, &e))
        bail_out("%s", e.text);
}

/* A run on 2 GPUs: start-up 2 s, epochs of 4, 2 and 2 s of 10 images each. */
static void measure(const char *first, const char *second, const char *earlier)
{
    static const double seconds[] = {4, 2, 2};

    write_file("study/runs/r/attempt-2/energy-n1-1.csv", first);
    write_file("study/runs/r/attempt-2/energy-n2-1.csv", second);
    write_file("study/runs/r/attempt-1/energy-n1-1.csv", earlier);
    result_destroy(&r);
    result_init(&r);
    strcpy(r.run, "r");
    r.gpus = 2, r.attempt = 2, r.startup_s = 2;
    r.curve = curve_create(3, CURVE_UNITS, &e);
    for (int i = 0; i < 3; i++)
        r.curve->seconds[i] = seconds[i], r.curve->units[i] = 10, r.curve->loss[i] = 1;
    curve_measure(r.curve, &r);
    r.training_time = 8;
    run_energy_measure("study", &r);
}

static void near(double got, double want, const char *what)
{
    if (!ok(isnan(want) ? isnan(got) : fabs(got - want) < 1e-6, "%s", what))
        printf("# got %g, want %g\n", got, want);
}

#define ROW(time, id, joules, note) \
    #time "," id "," #joules ",100,0.5,0.25,1000,1410,7.0," note "\n"

int main(void)
{
    char dir[] = "/tmp/unetctl-t.XXXXXX", text[64];

    if (!mkdtemp(dir) || chdir(dir))
        bail_out("no folder");
    const char *good = ROW(100, "GPU-a", 0, "") ROW(102, "GPU-a", 20, "")
        ROW(106, "GPU-a", 420, "") ROW(110, "GPU-a", 820, "") "110,GPU-a,99";
    const char *other = ROW(100, "GPU-b", 0, "") ROW(110, "GPU-b", 1000, "")
        "100,cpu0,0,,,,,,7.0,\n110,cpu0,500,50,,,,,7.0,\n";
    measure(good, other, "");
    near(r.energy.gpus_j, 1820, "the energies of the GPUs are added");
    near(r.energy.cpus_j, 500, "those of the CPU packages apart");
    near(r.curve->joules[0], 800, "an epoch has its part by time, after the start-up");
    near(r.energy.epoch_j, 400, "a steady epoch");
    near(r.gpu.watts, 91, "the mean power of a GPU");
    near(r.gpu.busy, 0.5, "how busy they were");
    near(r.gpu.throttled, 0.25, "how long throttled");
    near(r.gpu.memory_mib, 1000, "their memory");
    is_str(r.note, "", "nothing is noted");

    measure(good, ROW(100, "GPU-b", 0, "") ROW(103, "GPU-b", 300, "XID 79")
            ROW(103, "GPU-b", 300, "it cannot be read any more: GPU is lost"), "");
    near(r.energy.gpus_j, NAN, "with a GPU that was lost the energy is unknown");
    near(r.energy.epoch_j, NAN, "that of an epoch, too");
    is_str(r.note, "its energy is not known: 65 % of its GPUs' time was measured; n2, GPU-b: it "
           "cannot be read any more: GPU is lost", "it says why");
    measure(good, "", "");
    is_str(r.note, "its energy is not known: 50 % of its GPUs' time was measured",
           "a node without a sampler is missed");
    measure(good, ROW(100, "GPU-b", 0, "XID 13") ROW(110, "GPU-b", 1000, ""), "");
    near(r.energy.gpus_j, 1820, "an XID leaves the energy as it is");
    is_str(r.note, "n2, GPU-b: XID 13", "and is noted");
    measure(good, ROW(100, "GPU-b", 0, "\"another run uses it, too\"")
            ROW(110, "GPU-b", 1000, "XID 1"), "");
    near(r.energy.gpus_j, NAN, "that of a GPU which another run uses is not the run's");
    measure("", "", "");
    near(r.energy.gpus_j, NAN, "without a row there is no energy");
    is_str(r.note, "", "and no note");

    if (path_make_folder("study/runs/r/attempt-1/checkpoint", &e))
        bail_out("%s", e.text);
    write_file("study/runs/r/attempt-1/checkpoint/state.json", "");
    measure(good, other, "50,GPU-a,0,,,,,,6.0,\n55,GPU-a,200,40,0.5,0.25,1000,1410,6.0,\n");
    near(r.energy.gpus_j, 2020, "an attempt that was continued counts");
    near(r.energy.epoch_j, NAN, "epochs of several starts are not told apart");
    result_destroy(&r);
    snprintf(text, sizeof text, "rm -rf %s", dir);
    ok(system(text) == 0, "the folder is removed");
    return done_testing();
}
