"""A Slurm of three nodes on this machine, from Debian's packages."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NODES = 3
PROGRAMS = ("munged", "munge", "slurmctld", "slurmd", "sbatch", "scancel", "squeue", "sinfo")

SETTINGS = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CryptoType=crypto/munge
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=300
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] \
CPUs=1 RealMemory=8000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """Say why Slurm can't be started here; empty if it can."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    absent = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if absent:
        return f"no Slurm ({', '.join(absent)}): apt-get install slurm-wlm munge"
    return "" if os.geteuid() == 0 else "Slurm's daemons need root"


@contextmanager
def running(folder: Path) -> Iterator[dict[str, str]]:
    """Run Slurm while the block runs; give the environment in which its commands find it."""
    host = socket.gethostname().partition(".")[0]
    port, *ports = _free_ports(1 + NODES)
    settings = SETTINGS.format(host=host, folder=folder, port=port, nodes=NODES, first=ports[0], last=ports[-1])
    (folder / "slurm.conf").write_text(settings)
    (folder / "state").mkdir()
    environment = {
        **os.environ, "SLURM_CONF": str(folder / "slurm.conf"),
        "PATH": os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"]),
    }  # fmt: skip
    processes: list[subprocess.Popen[bytes]] = []
    log = (folder / "daemons.log").open("wb")

    def start(*command: str, user: str | None = None) -> None:
        processes.append(
            subprocess.Popen(command, env=environment, stdout=log, stderr=log, user=user, start_new_session=True)
        )

    try:
        start(*_munged(folder), user="munge")
        _until((folder / "munge/socket").exists, "munged", folder)
        start("slurmctld", "-D", "-c")
        for node in range(1, NODES + 1):
            (folder / f"spool-n{node}").mkdir()
            start("slurmd", "-D", "-N", f"n{node}")
        _until(lambda: _idle(environment) == NODES, "the nodes", folder)
        yield environment
    finally:
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(["scancel", "--user=root"], env=environment, timeout=20)
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        log.close()


def _munged(folder: Path) -> list[str]:
    """Make the folder of a munge daemon of its own, with a key; return its command."""
    place, user = folder / "munge", pwd.getpwnam("munge")
    place.mkdir()
    key = place / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    for path in (place, key):
        os.chown(path, user.pw_uid, user.pw_gid)
    place.chmod(0o711)
    for parent in place.parents:  # munge's user has to reach it
        if parent != Path("/") and parent.stat().st_uid == os.geteuid():
            parent.chmod(parent.stat().st_mode | 0o011)
    names = {"socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    options = [f"--{option}={place / name}" for option, name in names.items()]
    return ["munged", "--foreground", "--force", f"--key-file={key}", *options]


def _idle(environment: dict[str, str]) -> int:
    done = subprocess.run(
        ["sinfo", "-N", "-h", "-t", "idle", "-o", "%N"], env=environment, capture_output=True, text=True
    )
    return len(done.stdout.split())


def _until(ready: Callable[[], object], what: str, folder: Path) -> None:
    deadline = time.monotonic() + 60
    while not ready():
        if time.monotonic() > deadline:
            logs = "\n".join(
                path.read_text(errors="replace")[-2000:] for path in folder.rglob("*log") if path.is_file()
            )
            raise TimeoutError(f"{what} did not come up\n{logs}")
        time.sleep(0.2)


def _free_ports(count: int) -> list[int]:
    """Return ports in a row that nobody listens on."""
    for first in range(26800, 30000, 20):
        with suppress(OSError):
            held = [socket.create_server(("127.0.0.1", first + i)) for i in range(count)]
            for one in held:
                one.close()
            return list(range(first, first + count))
    raise OSError("no free ports")
