"""Hosts of their own on this machine: network namespaces, each with a cable to a hub."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PORT = 8786


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def missing() -> str:
    """Say why there can be no namespaces here; empty if there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "no ip command: apt-get install iproute2"
    probe = f"probe-{uuid.uuid4().hex[:6]}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
    if made.returncode == 0:
        ip("netns", "delete", probe)
    return made.stderr.strip()


@dataclass
class Network:
    """A hub, where scheduler and audit run, and a few hosts around it; the machine's own network is not touched."""

    hosts: int
    environment: Mapping[str, str]
    name: str = field(default_factory=lambda: f"w{uuid.uuid4().hex[:5]}")

    def command(self, host: int, *command: str) -> list[str]:
        """Return a command as it runs on a host; 0 is the hub."""
        return ["ip", "netns", "exec", f"{self.name}-{host}", *command]

    def hub(self, host: int) -> str:
        """Return the hub's address as a host knows it."""
        return f"10.77.{max(1, host)}.1"

    def scheduler(self, host: int) -> str:
        """Return the scheduler's address as a host knows it."""
        return f"tcp://{self.hub(host)}:{PORT}"

    def listen(self) -> socket.socket:
        """Return a socket of this process that listens on the hub, where all hosts reach it."""
        # A socket belongs to the namespace that its thread was in when it was made.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(self._listen).result()

    def _listen(self) -> socket.socket:
        with Path(f"/run/netns/{self.name}-0").open() as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0):
                raise OSError(ctypes.get_errno(), "setns")
        return socket.create_server(("0.0.0.0", 0))

    def cable(self, host: int, state: str) -> None:
        """Pull a host's cable (``down``), or plug it in again (``up``)."""
        ip("-n", f"{self.name}-0", "link", "set", f"port{host}", state)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run a scheduler on the hub and a worker on each host while the block runs."""
        with ExitStack() as stack:
            for host in range(self.hosts + 1):
                ip("netns", "add", f"{self.name}-{host}")
                stack.callback(ip, "netns", "delete", f"{self.name}-{host}")
                ip("-n", f"{self.name}-{host}", "link", "set", "lo", "up")
            subprocess.run(self.command(0, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1"), check=True)
            for host in range(1, self.hosts + 1):
                self._lay(host)
            self._start(stack, 0, "dask_scheduler", "--port", str(PORT), "--no-dashboard")
            for host in range(1, self.hosts + 1):
                own = f"tcp://10.77.{host}.2"
                self._start(
                    stack, host, "dask_worker", self.scheduler(host), "--nthreads", "1", "--host", own, "--no-dashboard"
                )
            yield

    def _lay(self, host: int) -> None:
        """Lay a cable from the hub to a host."""
        hub, other = f"{self.name}-0", f"{self.name}-{host}"
        ip("-n", hub, "link", "add", f"port{host}", "type", "veth", "peer", "name", "eth0", "netns", other)
        for place, device, end in ((hub, f"port{host}", 1), (other, "eth0", 2)):
            ip("-n", place, "address", "add", f"10.77.{host}.{end}/24", "dev", device)
            ip("-n", place, "link", "set", device, "up")
        ip("-n", other, "route", "add", "default", "via", f"10.77.{host}.1")

    def _start(self, stack: ExitStack, host: int, program: str, *arguments: str) -> None:
        command: Sequence[str] = self.command(host, sys.executable, "-m", f"distributed.cli.{program}", *arguments)
        process = subprocess.Popen(command, env=self.environment, stderr=subprocess.DEVNULL, start_new_session=True)
        stack.callback(process.wait, 20)
        stack.callback(process.terminate)
