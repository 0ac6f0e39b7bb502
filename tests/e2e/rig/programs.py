"""Where the programs are: the control plane and the stub from the cache, Tessera from the build."""

import functools
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
E2E = os.path.dirname(HERE)
ROOT = os.path.dirname(os.path.dirname(E2E))


@functools.lru_cache(maxsize=None)
def _built(what):
    return subprocess.run([os.path.join(E2E, "controlplane", "build"), what], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def control_plane():
    """The directory of etcd, kube-apiserver and the others; builds them when they are not there."""
    return _built("control-plane")


def stub_extender():
    return os.path.join(_built("stub"), "stub")


def tessera():
    """The program under test: TESSERA_PROGRAM, else the release build."""
    return os.environ.get("TESSERA_PROGRAM", os.path.join(ROOT, "build", "release", "bin", "tessera"))
