#include <slurm/spank.h>
SPANK_PLUGIN(images, 1)
static int take(int value, const char *text, int remote) { return 0; }
int slurm_spank_init(spank_t spank, int n, char **words)
{
    static struct spank_option options[] = { /* some of Pyxis */
        {"container-name", "NAME", "of a container", 1, 0, take},
        {"container-image", "IMAGE", "to start", 1, 0, take},
        {"container-mounts", "PATHS", "in it", 1, 0, take},
        {"container-workdir", "PATH", "in it", 1, 0, take}};
    int rc = 0;
    for (int i = 0; i < 4; i++)
        rc |= spank_option_register(spank, &options[i]);
    return rc;
}
