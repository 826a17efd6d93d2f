"""Tests."""

import os

# Dask's profiler can lock a process up for good before Python 3.11.9 (https://github.com/python/cpython/issues/106883).
# The workers of audits and builds stop it; clusters that tests start for other things never start it.
os.environ["DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED"] = "false"
