# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Unetctl(AutotoolsPackage, CudaPackage):
    """unetctl runs one training or program on 1, 2, 3, ... GPUs of a
    Slurm cluster and reports how much faster N GPUs are, whether the quality
    holds, and how many are worth their cost. It comes with a trainer of its
    own, unet-train."""

    homepage = "https://unetctl.example"
    url = "https://unetctl.example/unetctl-0.2.0.tar.xz"

    license("BSD-3-Clause")

    # Without a checksum until the tarball is published: spack install --no-checksum.
    version("0.2.0")

    variant("mpi", default=True, description="Ranks on several nodes")
    variant("slurm", default=True, description="Ask Slurm through libslurm, not its commands only")
    variant("librsvg", default=True, description="Figures of reports as PDF and PNG")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("pkgconfig", type="build")

    depends_on("jansson@2.10:")
    depends_on("libyaml")
    depends_on("cjson")
    depends_on("nettle@3.4:")
    depends_on("pcre2@10.30:")
    depends_on("libpng")
    depends_on("zlib-api")
    depends_on("libtiff@4.5:")
    depends_on("jpeg")
    depends_on("mpi", when="+mpi")
    depends_on("slurm@22-05:", when="+slurm")
    depends_on("librsvg", type="run", when="+librsvg")
    conflicts("cuda_arch=none", when="+cuda", msg="Name the GPUs' architecture: cuda_arch=90")
    with when("+cuda"):
        depends_on("cuda@12:")
        # Found when unet-train runs, not linked.
        depends_on("cudnn@9:", type="run")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"nccl cuda_arch={arch}", type="run", when=f"+cuda cuda_arch={arch}")

    requires("platform=linux", msg="unetctl needs Linux")

    def configure_args(self):
        spec = self.spec
        args = [
            f"--with-tiff={spec['libtiff'].prefix}",
            f"--with-jpeg={spec['jpeg'].prefix}",
            *self.with_or_without("mpi", activation_value="prefix"),
            *self.with_or_without("slurm", activation_value="prefix"),
            *self.with_or_without("cuda", activation_value="prefix"),
        ]
        if spec.satisfies("+cuda"):
            args.append("CUDA_ARCHS=" + " ".join(spec.variants["cuda_arch"].value))
        return args

    # The programs' own tests; the others need Slurm, MPI and data.
    def check(self):
        make("check", "TESTS=src/ launcher/ t0030 t1000 t1010 t1100")

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        if self.spec.satisfies("+cuda"):
            for name in ("nccl", "cudnn"):
                env.prepend_path("LD_LIBRARY_PATH", self.spec[name].prefix.lib)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.unetctl)("site", "list")
        Executable(self.prefix.bin.join("unet-train"))("devices")
