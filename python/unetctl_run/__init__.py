# SPDX-License-Identifier: BSD-3-Clause
"""The earlier name of unetctl.run."""
from unetctl.run import *  # noqa: F401,F403
