"""Runs Jaeger, the collector and Prometheus without containers, on the configuration files of docker-compose.yml.

`make jaeger` and `make jaeger-stop` call it. Tests use a folder of their own and free ports. Without the name of a
service it starts Jaeger and the collector, or stops all services.
"""

from __future__ import annotations

import argparse
import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gobuild

ROOT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
READY_SECONDS = 120
STOP_SECONDS = 20

# Published ports are the same as in the compose stack. The other ports differ, because both use one loopback.
PORTS = {
    "JAEGER_UI_PORT": 16686,
    "JAEGER_QUERY_GRPC_PORT": 16685,
    "JAEGER_OTLP_GRPC_PORT": 14317,
    "JAEGER_OTLP_HTTP_PORT": 14318,
    "JAEGER_HEALTH_PORT": 13133,
    "COLLECTOR_OTLP_GRPC_PORT": 4317,
    "COLLECTOR_OTLP_HTTP_PORT": 4318,
    "COLLECTOR_HEALTH_PORT": 13134,
    "COLLECTOR_METRICS_PORT": 8889,
    "PROMETHEUS_PORT": 9090,
}


@dataclass(frozen=True)
class Service:
    """One program of the stack.

    Attributes:
        name: the name in docker-compose.yml.
        program: what to run.
        configuration: the file that it reads.
        health: the variable with the port, and the path, where it reports that it is ready.
        arguments: the arguments. Environment variables and `{configuration}` are filled in.
        addresses: addresses of the compose stack in a file that has no variables, and their replacements here.
    """

    name: str
    program: gobuild.Program
    configuration: str
    health: tuple[str, str]
    arguments: tuple[str, ...] = ("--config={configuration}",)
    addresses: tuple[tuple[str, str], ...] = ()

    @property
    def ports(self) -> list[str]:
        """The variables that name its ports."""
        return [name for name in PORTS if name.startswith(self.name.upper())]


SERVICES = {
    "jaeger": Service("jaeger", gobuild.JAEGER, "jaeger-config.yaml", ("JAEGER_HEALTH_PORT", "/status")),
    "collector": Service("collector", gobuild.COLLECTOR, "collector-config.yaml", ("COLLECTOR_HEALTH_PORT", "/")),
    "prometheus": Service(
        "prometheus",
        gobuild.PROMETHEUS,
        "prometheus-config.yaml",
        ("PROMETHEUS_PORT", "/-/ready"),
        (
            "--config.file={configuration}",
            "--storage.tsdb.path=prometheus",
            f"--web.listen-address={HOST}:{{PROMETHEUS_PORT}}",
            "--enable-feature=created-timestamp-zero-ingestion",
        ),
        (("collector:8889", f"{HOST}:{{COLLECTOR_METRICS_PORT}}"),),
    ),
}
STARTED_UNNAMED = ("jaeger", "collector")


class StackError(Exception):
    """The stack cannot be started. The message says why and what to do."""


@dataclass
class Stack:
    """The services that run, stored in stack.json beside their data and logs.

    Attributes:
        folder: outside the clone.
        environment: what the configuration files read.
        pids: the pids of the started services.
    """

    folder: Path
    environment: dict[str, str]
    pids: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def load(cls, folder: Path) -> Stack | None:
        """Read which services were started in a folder. None if there are none."""
        try:
            kept = json.loads((folder / "stack.json").read_text())
        except FileNotFoundError:
            return None
        return cls(folder, kept["environment"], kept["pids"])

    def save(self) -> None:
        """Write stack.json."""
        text = json.dumps({"environment": self.environment, "pids": self.pids}, indent=2)
        (self.folder / "stack.json").write_text(text + "\n")

    def runs(self, service: Service) -> bool:
        """Tell whether the process of a service lives. The pid may belong to another program by now."""
        try:
            program = os.readlink(f"/proc/{self.pids[service.name]}/exe")
        except (KeyError, OSError):
            return False
        return program.removesuffix(" (deleted)").endswith(f"/{service.program.name}")

    def start(self, service: Service) -> None:
        """Start a service and return when it is ready.

        Raises:
            StackError: a port is taken, or it did not become ready.
        """
        if not self.runs(service):
            for variable in service.ports:
                self._check_free(variable)
            log = self.folder / f"{service.name}.log"
            with log.open("ab") as output:
                process = subprocess.Popen(
                    [gobuild.ensure(service.program), *self._arguments(service)],
                    cwd=self.folder,
                    env={**os.environ, **self.environment},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            self.pids[service.name] = process.pid
            self.save()
        variable, path = service.health
        deadline = time.monotonic() + READY_SECONDS
        while not _answers(int(self.environment[variable]), path):
            if not self.runs(service) or time.monotonic() > deadline:
                raise StackError(f"{service.name} did not become ready; see {self.folder / service.name}.log")
            time.sleep(0.05)

    def stop(self, service: Service) -> None:
        """Stop a service and wait until it has ended."""
        for signum in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + STOP_SECONDS
            if self.runs(service):
                os.kill(self.pids[service.name], signum)
            while self.runs(service) and time.monotonic() < deadline:
                time.sleep(0.02)
        self.pids.pop(service.name, None)
        self.save()

    def _arguments(self, service: Service) -> list[str]:
        configuration = ROOT / service.configuration
        if service.addresses:
            text = configuration.read_text()
            for there, here in service.addresses:
                text = text.replace(there, here.format(**self.environment))
            configuration = self.folder / service.configuration
            configuration.write_text(text)
        return [argument.format(configuration=configuration, **self.environment) for argument in service.arguments]

    def _check_free(self, variable: str) -> None:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, int(self.environment[variable])))
            except OSError as error:
                port = self.environment[variable]
                raise StackError(f"port {port} of {HOST} is taken: set {variable} to a free one") from error

    def addresses(self) -> dict[str, Any]:
        """Return its address and the paths of its files."""
        port = self.environment

        def otlp(service: str) -> dict[str, str]:
            return {kind: f"http://{HOST}:{port[f'{service}_OTLP_{kind.upper()}_PORT']}" for kind in ("http", "grpc")}

        return {
            "ui": f"http://{HOST}:{port['JAEGER_UI_PORT']}",
            "jaeger": otlp("JAEGER"),
            "collector": otlp("COLLECTOR"),
            "metrics": f"http://{HOST}:{port['COLLECTOR_METRICS_PORT']}/metrics",
            "prometheus": f"http://{HOST}:{port['PROMETHEUS_PORT']}",
            "spans": f"{port['COLLECTOR_DATA']}/traces.jsonl",
            "pids": self.pids,
            "folder": str(self.folder),
        }


def _environment(folder: Path, free_ports: bool) -> dict[str, str]:
    """Return the variables that the configuration files read, from the environment or with their defaults."""
    ports = dict(zip(PORTS, _free_ports(len(PORTS)) if free_ports else map(str, PORTS.values()), strict=True))
    given: Mapping[str, str] = {} if free_ports else os.environ
    grpc, prometheus = (given.get(name, ports[name]) for name in ("JAEGER_OTLP_GRPC_PORT", "PROMETHEUS_PORT"))
    own = {
        **ports,
        "JAEGER_LISTEN_HOST": HOST,
        "JAEGER_DATA": str(folder / "jaeger"),
        "JAEGER_PROMETHEUS": f"http://{HOST}:{prometheus}",
        "COLLECTOR_LISTEN_HOST": HOST,
        "COLLECTOR_DATA": str(folder / "collector"),
        "COLLECTOR_TO": f"{HOST}:{grpc}",
    }
    return {name: given.get(name, value) for name, value in own.items()}


def _free_ports(count: int) -> list[str]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind((HOST, 0))
        return [str(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Lock a folder, so that only one start or stop works on it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _default_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "scenetest-otel" / "stack"


def main() -> None:
    """Start or stop the stack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("build", "start", "stop"))
    parser.add_argument("services", nargs="*", help=f"of {', '.join(SERVICES)}; if none is named, see above")
    parser.add_argument("--folder", type=Path, default=_default_folder(), help="for data, logs and pids")
    parser.add_argument("--free-ports", action="store_true", help="take ports that nothing listens on")
    parser.add_argument("--json", action="store_true", help="print the addresses as JSON")
    arguments = parser.parse_intermixed_args()
    unnamed = SERVICES if arguments.action == "stop" else STARTED_UNNAMED
    services = [SERVICES[name] for name in arguments.services or unnamed]
    folder: Path = arguments.folder.resolve()

    for service in services if arguments.action != "stop" else ():
        gobuild.ensure(service.program)
    if arguments.action == "build":
        return
    with _locked(folder):
        stack = Stack.load(folder)
        if arguments.action == "stop":
            # The collector first, so that it can still send its queue to Jaeger.
            if stack:
                for service in reversed(services):
                    stack.stop(service)
            return
        if stack is None or not (arguments.free_ports or any(map(stack.runs, SERVICES.values()))):
            stack = Stack(folder, _environment(folder, arguments.free_ports))
        for service in services:
            (folder / service.name).mkdir(exist_ok=True)
            stack.start(service)
    addresses = stack.addresses()
    if arguments.json:
        print(json.dumps(addresses))
        return
    for meaning, where in (
        ("Jaeger's pages", addresses["ui"]),
        ("send spans to", f"{addresses['collector']['http']} (http/protobuf)"),
        ("", f"{addresses['collector']['grpc']} (grpc)"),
        *([("Prometheus", addresses["prometheus"])] if stack.runs(SERVICES["prometheus"]) else []),
        ("data and logs", addresses["folder"]),
        ("end it", "make jaeger-stop"),
    ):
        print(f"{meaning:15} {where}")


if __name__ == "__main__":
    try:
        main()
    except (StackError, RuntimeError) as error:
        sys.exit(f"{error}")
