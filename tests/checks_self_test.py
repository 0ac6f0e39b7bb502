#!/usr/bin/env python3
"""Proves that the layering and style checks can fail: one small broken tree per rule.

usage: checks_self_test.py layering|style
"""

import contextlib
import io
import os
import shutil
import sys
import tempfile
import unittest

import layering_test
import style_test

TABLE = """# add_layer(comment DEPENDS nothing)
add_layer(base PURE LINKS fmt::fmt)
add_layer(model PURE DEPENDS base)
add_layer(codec
          DEPENDS model base PRIVATE_LINKS yaml-cpp)
"""

DOCUMENT = """# Layers
| Layer | Holds | Pure | May include |
|---|---|---|---|
| `base` | errors | yes | |
| `model` | GPUs | yes | base |
| `codec` | JSON | no | model base |
"""


class TreeCase(unittest.TestCase):
    """A source tree in a temporary folder; write() adds files to it."""

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        self.write("src/CMakeLists.txt", TABLE)
        self.write("docs/architecture.md", DOCUMENT)
        self.write("src/base/error.h", "// Errors.\n#pragma once\n#include <fmt/format.h>\n#include <string>\n")

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def expect(self, faults, *parts):
        self.assertEqual(len(faults), 1, faults)
        for part in parts:
            self.assertIn(part, faults[0])


class Layering(TreeCase):
    def faults_with(self, name, text):
        self.write(name, text)
        return layering_test.check(self.root)

    def test_good_tree(self):
        good = '// Uses std::cout "system_clock" nowhere.\n#include <map>\n#include "base/error.h"\n'
        self.assertEqual(self.faults_with("src/model/gpu.cc", good), [])

    def test_table_is_read(self):
        layers = layering_test.read_layers(TABLE)
        self.assertEqual(layers["codec"], (False, ["model", "base"]))
        self.assertEqual(layers["base"], (True, []))
        self.assertNotIn("comment", layers)

    def test_upward_include(self):
        self.write("src/model/gpu.h", "// A GPU.\n")
        faults = self.faults_with("src/base/intern.cc", '// Names.\n#include "model/gpu.h"\n')
        self.expect(faults, "src/base/intern.cc:2", "layer base may not include model")

    def test_upward_include_in_a_test(self):
        self.write("src/model/gpu.h", "// A GPU.\n")
        faults = self.faults_with("src/base/intern_test.cc", '# include "model/gpu.h"\n')
        self.expect(faults, "may not include model")

    def test_ours_in_angle_brackets(self):
        self.expect(self.faults_with("src/codec/json.cc", "#include <base/error.h>\n"), "with quotes")

    def test_undeclared_layer(self):
        self.expect(self.faults_with("src/extra/thing.cc", "int x;\n"), '"extra" is no layer')

    def test_include_outside_the_layers(self):
        self.expect(self.faults_with("src/codec/json.cc", '#include "error.h"\n'), "start with a layer")

    def test_missing_file(self):
        self.expect(self.faults_with("src/codec/json.cc", '#include "base/absent.h"\n'), "there is no")

    def test_cycle_in_the_table(self):
        layers = layering_test.read_layers("add_layer(base DEPENDS model)\nadd_layer(model)\n")
        self.expect(list(layering_test.check_table(layers)), "not declared above")

    def test_pure_on_impure(self):
        layers = layering_test.read_layers("add_layer(base)\nadd_layer(model PURE DEPENDS base)\n")
        self.expect(list(layering_test.check_table(layers)), "is PURE but depends on base")

    def test_document(self):
        for changed in (
            DOCUMENT.replace("| model base |", "| model |"),
            DOCUMENT.replace("| JSON | no |", "| JSON | yes |"),
            DOCUMENT.replace("| `codec` | JSON | no | model base |\n", ""),
        ):
            with self.subTest(document=changed):
                self.expect(self.faults_with("docs/architecture.md", changed), "layer codec differs")

    def test_impure_headers(self):
        for header in ("thread", "fstream", "iostream", "chrono", "mutex", "sys/socket.h", "unistd.h"):
            with self.subTest(header=header):
                faults = self.faults_with("src/model/gpu.cc", f"// A GPU.\n#include <{header}>\n")
                self.expect(faults, "src/model/gpu.cc:2", "layer model is pure")

    def test_impure_names(self):
        for name in ("std::chrono::system_clock::now()", "std::chrono::steady_clock::now()", "getenv(n)"):
            with self.subTest(name=name):
                self.expect(self.faults_with("src/model/gpu.cc", f"auto x = {name};\n"), "layer model is pure")

    def test_impure_is_fine_elsewhere(self):
        self.assertEqual(self.faults_with("src/codec/csv.cc", "#include <fstream>\n"), [])
        self.assertEqual(self.faults_with("src/model/gpu_test.cc", "#include <fstream>\n"), [])

    def test_heavy_header(self):
        self.write("src/codec/walk.h", "// A walk.\n#include <yaml-cpp/yaml.h>\n")
        self.assertEqual(self.faults_with("src/codec/json.cc", '#include "codec/walk.h"\n'), [])
        faults = self.faults_with("src/codec/json.h", '// JSON.\n#include "codec/walk.h"\n')
        self.expect(faults, "src/codec/json.h", "<yaml-cpp/yaml.h>", "dear to compile")

    def test_empty_table(self):
        self.expect(self.faults_with("src/CMakeLists.txt", ""), "no add_layer")


class Style(TreeCase):
    def check_with(self, name, text):
        self.write(name, text)
        return style_test.check(self.root)

    def body(self, lines):
        return "// Long.\nnamespace a {\nint f(int x) {\n" + "    x += 1;\n" * (lines - 2) + "}\n}\n"

    def test_good_tree(self):
        self.assertEqual(self.check_with("src/base/a.cc", self.body(70)), ([], []))

    def test_long_function_is_listed(self):
        faults, remarks = self.check_with("src/base/a.cc", self.body(71))
        self.assertEqual(faults, [])
        self.expect(remarks, "src/base/a.cc:3", "f has 71 lines")

    def test_very_long_function_fails(self):
        faults, _ = self.check_with("src/base/a.cc", self.body(121))
        self.expect(faults, "f has 121 lines")

    def test_table_is_no_function(self):
        text = "// T.\nconstexpr int kTable[] = {\n" + "    f(1),\n" * 90 + "};\n"
        self.assertEqual(self.check_with("src/base/a.cc", text), ([], []))

    def test_long_files(self):
        _, remarks = self.check_with("src/base/a.cc", "// L.\n" + "int x;\n" * 600)
        self.expect(remarks, "601 lines")
        faults, _ = self.check_with("src/base/a.cc", "// L.\n" + "int x;\n" * 800)
        self.expect(faults, "801 lines")

    def test_notes(self):
        for word in ("TO" "DO", "FIX" "ME"):
            with self.subTest(word=word):
                self.expect(self.check_with("docs/a.md", f"{word}: later\n")[0], "docs/a.md:1", "note to self")

    def test_machine_path(self):
        self.expect(self.check_with("docs/a.md", "see /ho" "me/me/x\n")[0], "path of one machine")

    def test_text_layout(self):
        self.expect(self.check_with("src/base/a.cc", "// A.\nint x; \n")[0], "spaces at the end")
        self.expect(self.check_with("src/base/a.cc", "// A.\n\tint x;\n")[0], "a tab")
        self.expect(self.check_with("src/base/a.cc", "// A.")[0], "no newline")

    def test_purpose(self):
        self.expect(self.check_with("src/base/a.cc", "int x;\n")[0], "does not open with a comment")
        self.write("src/base/a.h", "// A.\n#pragma once\n")
        self.assertEqual(style_test.check(self.root), ([], []))

    def test_headers(self):
        self.expect(self.check_with("src/base/a.h", "// A.\n")[0], "no #pragma once")
        text = "// A.\n#pragma once\nusing namespace std;\n"
        self.expect(self.check_with("src/base/a.h", text)[0], "using namespace")

    @unittest.skipUnless(shutil.which("clang-format-19"), "needs clang-format-19")
    def test_format(self):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            self.write("src/base/a.cc", "// A.\nint x;\n")
            self.assertEqual(style_test.check_format(self.root), 0)
            self.write("src/base/a.cc", "// A.\nint   x;\n")
            self.assertEqual(style_test.check_format(self.root), 1)
        self.assertIn("clang-format-19 -i src/base/a.cc", shown.getvalue())

    @unittest.skipUnless(shutil.which("shellcheck"), "needs shellcheck")
    def test_scripts(self):
        self.addCleanup(os.chdir, os.getcwd())
        with contextlib.redirect_stdout(io.StringIO()):
            self.write("run", '#!/bin/bash\necho "$1"\n')
            self.assertEqual(style_test.check_scripts(self.root), 0)
            self.write("run", "#!/bin/bash\necho $1\n")
            self.assertEqual(style_test.check_scripts(self.root), 1)


if __name__ == "__main__":
    suite = {"layering": Layering, "style": Style}[sys.argv.pop()]
    unittest.main(argv=[sys.argv[0], suite.__name__])
