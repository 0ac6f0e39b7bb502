#!/usr/bin/env python3
"""Runs ./run, ./test and bench/run where they must refuse: wrong words, missing packages.

Package tools are replaced by small fakes at the front of PATH, so nothing is installed and nothing
is built.
"""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))


class Scripts(unittest.TestCase):
    def setUp(self):
        self.fakes = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.fakes)
        self.calls = os.path.join(self.fakes, "calls")

    def fake(self, name, body):
        path = os.path.join(self.fakes, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/bash\necho "{name} $*" >>"{self.calls}"\n{body}\n')
        os.chmod(path, 0o755)

    def made_calls(self):
        if not os.path.exists(self.calls):
            return ""
        with open(self.calls, encoding="utf-8") as file:
            return file.read()

    def run_script(self, *words, **variables):
        environment = {**os.environ, "PATH": f"{self.fakes}:{os.environ['PATH']}", **variables}
        return subprocess.run([os.path.join(ROOT, words[0]), *words[1:]], env=environment, text=True,
                              capture_output=True, timeout=60, check=False)

    def expect(self, done, code, *parts):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for part in parts:
            self.assertIn(part, done.stdout + done.stderr)

    def test_help(self):
        for script in ("run", "test", "bench/run"):
            with self.subTest(script=script):
                self.expect(self.run_script(script, "--help"), 0, f"usage: {'' if '/' in script else './'}{script}")

    def test_wrong_words(self):
        self.expect(self.run_script("test", "bogus"), 2, '"bogus" is not a suite', "usage:")
        self.expect(self.run_script("bench/run", "bogus"), 2, '"bogus" is not a benchmark', "usage:")
        self.expect(self.run_script("bench/run", "../bench/run"), 2, "is not a benchmark")
        self.expect(self.run_script("bench/run"), 2, "usage:")

    def test_wrong_variables(self):
        self.expect(self.run_script("test", "fuzz", FUZZ_SECONDS="soon"), 2, '"soon" is not')
        self.expect(self.run_script("test", "unit", TESSERA_TRACES="/nowhere"), 2, '"/nowhere" is not')

    def test_suites_to_come(self):
        self.expect(self.run_script("test", "e2e-kubernetes"), 2, "comes with the scheduler")

    def test_end_to_end_without_go(self):
        self.fake("go", "echo go1.19.8")
        done = self.run_script("test", "e2e", "e2e-scale", TESSERA_NO_INSTALL="1")
        reason = "Go 1.26 or newer is needed, this machine has 1.19.8"
        self.expect(done, 0, f"left out: e2e: {reason}", f"left out: e2e-scale: {reason}", "0 passed, 0 failed")

    def test_build_of_the_control_plane_refuses(self):
        build = "tests/e2e/controlplane/build"
        self.expect(self.run_script(build, "bogus"), 2 if shutil.which("go") else 3)
        self.fake("go", "echo go1.19.8")
        self.expect(self.run_script(build), 3, "Go 1.26 or newer is needed")

    def test_missing_packages_without_root(self):
        self.fake("dpkg-query", "exit 1")
        self.fake("apt-get", "exit 1")
        self.fake("apt-cache", "exit 0")
        self.fake("id", "echo 1000")
        done = self.run_script("run", "sim")
        self.expect(done, 3, "g++                    C++20 compiler", "sudo apt-get install -y --no-remove", " cmake ")
        self.assertNotIn("apt-get", self.made_calls())
        self.expect(self.run_script("test", "unit"), 3, "python3")

    def test_one_missing_package(self):
        self.fake("dpkg-query", 'for name in "${@:4}"; do [[ $name == cmake ]] || echo "$name ii "; done')
        self.fake("apt-cache", "exit 1")
        done = self.run_script("run", TESSERA_NO_INSTALL="1")
        self.expect(done, 3, "cmake                  configures the build", "sudo apt-get update && sudo")
        self.assertNotIn("g++", done.stderr)

    def test_install_that_fails(self):
        self.fake("dpkg-query", "exit 1")
        self.fake("apt-get", 'echo "no network"; exit 1')
        self.fake("apt-cache", "exit 0")
        self.fake("id", "echo 0")
        self.expect(self.run_script("run", "sim", TESSERA_NO_INSTALL=""), 3, "installing g++", "no network")
        calls = self.made_calls()
        self.assertIn("apt-get install -y --no-remove", calls)
        self.assertIn("apt-get update", calls)


if __name__ == "__main__":
    unittest.main()
