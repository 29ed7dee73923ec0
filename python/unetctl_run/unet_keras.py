# SPDX-License-Identifier: BSD-3-Clause
"""The earlier name of unetctl.keras."""
from unetctl.keras import *  # noqa: F401,F403
