"""Programs the rig starts: each in a process group of its own, with a log, ended by its process id.

A program dies with the test run that started it, also when that run is killed: the kernel ends it
(PR_SET_PDEATHSIG). This is tied to the starting thread, so programs are started by the one that runs the tests.
"""

import ctypes
import os
import random
import signal
import socket
import subprocess
import threading
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


# Where the tests run: mostly the main thread, but a worker of xdist may choose another one.
_home = threading.current_thread()


class ProgramFailed(Exception):
    """A program ended or did not become ready; the message names its log."""


def die_with_parent(parent_pid):
    """For the child: the kernel kills it when its parent ends."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os._exit(1)


def free_port():
    """A port of loopback that nothing listens on, below the range of outgoing connections."""
    for _ in range(1000):
        port = random.SystemRandom().randrange(10000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port on loopback")


def wait_until(condition, seconds, what, pause=0.05):
    """The first true value of condition(); an AssertionError that says `what` after the time."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(pause)


class Program:
    """One running program. Its output goes to LOG, which grows over restarts.

        etcd = Program("etcd", ["/cache/etcd", "--data-dir=..."], log_directory)
        etcd.start()
        etcd.stop()          # SIGTERM, then SIGKILL after a while
    """

    def __init__(self, name, command, log_directory, environment=None):
        self.name = name
        self.command = [str(word) for word in command]
        self.log = os.path.join(log_directory, f"{name}.log")
        self.environment = environment
        self.process = None

    @property
    def pid(self):
        return self.process.pid

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    def start(self):
        assert threading.current_thread() is _home, "see the head of this file"
        assert not self.running, f"{self.name} runs already"
        parent = os.getpid()
        environment = dict(os.environ, **self.environment) if self.environment else None
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, env=environment,
                preexec_fn=lambda: die_with_parent(parent))
        return self

    def wait_ready(self, is_ready, seconds):
        def check():
            if not self.running:
                raise ProgramFailed(
                    f"{self.name} ended with {self.process.returncode}; log: {self.log}\n"
                    + self.log_end())
            return is_ready()
        try:
            wait_until(check, seconds, "ready")
        except AssertionError:
            raise ProgramFailed(f"{self.name} is not ready after {seconds} s; log: {self.log}\n"
                                + self.log_end()) from None

    def signal(self, number):
        os.kill(self.process.pid, number)

    def kill(self):
        """As kill -9 does; returns when the process is gone."""
        if self.running:
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def stop(self, seconds=10):
        """Asks it to end; the exit code, or None when it had to be killed."""
        if self.process is None:
            return None
        if self.running:
            self.process.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def log_end(self, lines=15):
        try:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                return "".join(log.readlines()[-lines:])
        except OSError:
            return ""

    def forget_peak(self):
        """From now on peak_mib() is counted anew."""
        with open(f"/proc/{self.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")

    def peak_mib(self):
        """The most memory it had at any time."""
        return self._status_mib("VmHWM")

    def resident_mib(self):
        return self._status_mib("VmRSS")

    def _status_mib(self, key):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            line, = (line for line in status if line.startswith(f"{key}:"))
        return int(line.split()[1]) / 1024
