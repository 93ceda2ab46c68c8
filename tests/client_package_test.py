"""The installed client: programs outside the tree find it by CMake and by pkg-config, and it needs nothing but the C library."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from harness.main import main
from harness.server import BIN, ROOT

HELLO = ROOT / "examples/hello"
GREETER_PROTO = """syntax = "proto3";
package greeter;
message Words { string text = 1; }
service Greeter { rpc Greet(Words) returns (Words); }
"""
GREETER = """#include <fathom/grpc.h>
#include <grpcpp/grpcpp.h>
#include "greeter.grpc.pb.h"
struct Service : greeter::Greeter::Service {
  grpc::Status Greet(grpc::ServerContext* context, const greeter::Words* request, greeter::Words* reply) override {
    fathom::grpc::span_of(*context).set("words", request->text());
    reply->set_text(fathom::Context::active()->traceparent());
    return grpc::Status::OK;
  }
};
int main() {
  Service service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  fathom::grpc::trace_server(builder);
  auto server = builder.BuildAndStart();
  auto channel = fathom::grpc::traced_channel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  fathom::Span span("main");
  grpc::ClientContext context;
  greeter::Words request, reply;
  bool ok = greeter::Greeter::NewStub(channel)->Greet(&context, request, &reply).ok();
  return ok && reply.text().substr(3, 32) == span.context().traceparent().substr(3, 32) ? 0 : 1;
}
"""


def block(page, first, last=None):
    """The indented lines of a page from `first` to the next empty one, or up to the line `last`."""
    lines = (ROOT / page).read_text(encoding="utf-8").split("\n")
    begin = lines.index("    " + first)
    end = lines.index("    " + last if last else "", begin)
    return [line[4:] for line in lines[begin:end]]


@unittest.skipIf(os.environ.get("FATHOM_SANITIZED"), "sanitized libraries need sanitized programs")
class ClientPackage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="fathom-test-")
        cls.addClassCleanup(directory.cleanup)
        cls.work = pathlib.Path(directory.name)
        cls.prefix = cls.work / "prefix"
        for component in ("client-runtime", "client"):
            cls.run_in(cls.work, "cmake", "--install", BIN.parent, "--component", component, "--prefix", cls.prefix)
        cls.library = next(cls.prefix.rglob("libfathom-client.so"))

    @classmethod
    def run_in(cls, directory, *command, **environment):
        outcome = subprocess.run([str(word) for word in command], cwd=directory, capture_output=True, text=True, check=False,
                                 env={**os.environ, "FATHOM_AGENT_SOCKET": "", **environment})
        if outcome.returncode != 0:
            raise AssertionError(f"{command}: {outcome.returncode}\n{outcome.stdout}{outcome.stderr}")
        return outcome.stdout

    def folder(self, name):
        path = self.work / name
        path.mkdir()
        return path

    def pkg_config(self, *flags):
        out = self.run_in(self.work, "pkg-config", *flags, "fathom-client",
                          PKG_CONFIG_PATH=str(self.library.parent / "pkgconfig"))
        return out.split()

    def compile(self, name, *flags):
        folder = self.folder(name)
        self.run_in(folder, "g++", "-Wall", "-Wextra", "-Werror", "-O2", HELLO / "hello.cc", "-o", "hello", *flags)
        return folder / "hello"

    def test_by_cmake(self):
        source = self.folder("cmake")
        shutil.copytree(HELLO, source, dirs_exist_ok=True)
        self.run_in(source, "cmake", "-G", "Ninja", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_in(source, "cmake", "--build", "build")
        self.run_in(source, "build/hello")
        # The static library: whoever looks for the thread's current span finds it in the program.
        self.assertIn("otel_thread_ctx_v1", self.run_in(source, "nm", "-D", "--defined-only", "build/hello"))

    def test_by_cmake_the_shared_library(self):
        source = self.folder("cmake-shared")
        shutil.copytree(HELLO, source, dirs_exist_ok=True)
        lists = source / "CMakeLists.txt"
        lists.write_text(lists.read_text(encoding="utf-8").replace("fathom::client", "fathom::client-shared"), encoding="utf-8")
        self.run_in(source, "cmake", "-G", "Ninja", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_in(source, "cmake", "--build", "build")
        self.run_in(source, "build/hello")
        self.assertIn("libfathom-client.so", self.run_in(source, "ldd", "build/hello"))

    def test_by_cmake_in_a_project_in_c_alone(self):
        for target in ("client", "client-shared"):
            source = self.folder(f"cmake-c-{target}")
            shutil.copy(ROOT / "client/programs/c_program.c", source)
            (source / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.25)\nproject(program LANGUAGES C)\nfind_package(fathom REQUIRED)\n"
                f"add_executable(program c_program.c)\ntarget_link_libraries(program PRIVATE fathom::{target})\n", encoding="utf-8")
            self.run_in(source, "cmake", "-G", "Ninja", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
            self.run_in(source, "cmake", "--build", "build")
            self.run_in(source, "build/program")

    def test_by_pkg_config(self):
        libraries = self.pkg_config("--variable=libdir")[0]
        program = self.compile("pkg-config", *self.pkg_config("--cflags", "--libs"), f"-Wl,-rpath,{libraries}")
        self.run_in(self.work, program)

    def test_the_lines_of_the_manual(self):
        folder = self.folder("manual")
        shutil.copy(HELLO / "hello.cc", folder / "app.cc")
        shutil.copy(ROOT / "client/programs/c_program.c", folder / "app.c")
        lists = ["cmake_minimum_required(VERSION 3.25)", "project(app LANGUAGES CXX)", "add_executable(app app.cc)"]
        lists += block("docs/client.md", "# CMakeLists.txt; or, with the shared library: fathom::client-shared")
        (folder / "CMakeLists.txt").write_text("\n".join(lists) + "\n", encoding="utf-8")
        lines = [line.replace("PREFIX/", f"{self.prefix}/") for line in block("docs/client.md", "# CMake")]
        script = [line.replace("PATH=PREFIX", f"PATH={self.prefix}") + ("\n./app" if " -o app " in line else "") for line in lines]
        self.assertEqual(sum(line.endswith("./app") for line in script), 4)
        self.run_in(folder, "bash", "-euc", "\n".join(script))
        self.run_in(folder, "build/app")

    def test_the_readmes_program(self):
        folder = self.folder("readme")
        program, lists = block("README.md", "// hello.cc", "# CMakeLists.txt"), block("README.md", "# CMakeLists.txt")
        (folder / "hello.cc").write_text("\n".join(program), encoding="utf-8")
        (folder / "CMakeLists.txt").write_text("\n".join(lists), encoding="utf-8")
        self.run_in(folder, "cmake", "-G", "Ninja", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_in(folder, "cmake", "--build", "build")
        self.run_in(folder, "build/hello")

    def test_the_manuals_project_for_grpc(self):
        folder = self.folder("greeter")
        lists = block("docs/grpc.md", "cmake_minimum_required(VERSION 3.25)")
        for name, text in (("CMakeLists.txt", "\n".join(lists) + "\n"), ("greeter.proto", GREETER_PROTO), ("greeter.cc", GREETER)):
            (folder / name).write_text(text, encoding="utf-8")
        self.run_in(folder, "cmake", "-G", "Ninja", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_in(folder, "cmake", "--build", "build")
        self.run_in(folder, "build/greeter")

    def test_by_cmake_a_project_keeps_its_standard(self):
        for standard, macro in ((17, 201703), (20, 202002)):
            source = self.folder(f"cmake-{standard}")
            shutil.copytree(HELLO, source, dirs_exist_ok=True)
            program = source / "hello.cc"
            program.write_text(f'{program.read_text(encoding="utf-8")}\nstatic_assert(__cplusplus == {macro});\n', encoding="utf-8")
            self.run_in(source, "cmake", "-G", "Ninja", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                        f"-DCMAKE_CXX_STANDARD={standard}")
            self.run_in(source, "cmake", "--build", "build")
            self.run_in(source, "build/hello")

    def refused(self, source, *flags):
        with self.assertRaises(AssertionError) as caught:
            self.run_in(self.work, "g++", "-fsyntax-only", source, *flags, *self.pkg_config("--cflags"))
        return str(caught.exception)

    def test_an_older_standard_is_told_what_to_do(self):
        self.assertIn("fathom/trace.h needs C++17", self.refused(HELLO / "hello.cc", "-std=c++14"))

    def test_the_header_needs_neither_exceptions_nor_rtti(self):
        archive = self.library.with_suffix(".a")
        for standard in ("c++17", "c++20"):
            self.run_in(self.work, self.compile(f"bare-{standard}", f"-std={standard}", "-fno-exceptions", "-fno-rtti", "-pedantic",
                                                *self.pkg_config("--cflags"), archive))

    def test_the_header_for_grpc_needs_rtti_and_says_so(self):
        source = self.folder("grpc") / "server.cc"
        source.write_text("#include <fathom/grpc.h>\n", encoding="utf-8")
        self.assertIn("fathom/grpc.h needs RTTI", self.refused(source, "-fno-rtti"))
        self.run_in(self.work, "g++", "-std=c++17", "-fsyntax-only", source, *self.pkg_config("--cflags"))

    def test_statically(self):
        archive = self.library.with_suffix(".a")
        self.run_in(self.work, self.compile("archive", *self.pkg_config("--cflags"), archive))
        self.run_in(self.work, self.compile("static", *self.pkg_config("--cflags"), archive, "-static"))

    def test_a_c_program_needs_no_cplusplus(self):
        folder = self.folder("c")
        self.run_in(folder, "gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", ROOT / "client/programs/c_program.c",
                    "-o", "program", *self.pkg_config("--cflags"), self.library.with_suffix(".a"))
        self.run_in(folder, "./program")

    def test_it_needs_the_c_library_only(self):
        needed = re.findall(r"NEEDED.*\[(.*)\]", self.run_in(self.work, "readelf", "-d", self.library))
        self.assertEqual(set(needed) - {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, {"libc.so.6"})

    @staticmethod
    def declared():
        headers = [(ROOT / "client/fathom" / header).read_text(encoding="utf-8") for header in ("trace_c.h", "event_c.h")]
        return {name for text in headers for name in re.findall(r"FATHOM_EXPORT .*?(fathom_\w+)\(", text)}

    def test_the_c_program_calls_every_function(self):
        """Those that macros and inline functions call have a version in their name."""
        called = set(re.findall(r"\b(fathom_\w+)\(", (ROOT / "client/programs/c_program.c").read_text(encoding="utf-8")))
        self.assertEqual({name for name in self.declared() - called if not name.endswith("_v1")}, set())

    def test_it_shows_its_interface_only(self):
        symbols = self.run_in(self.work, "nm", "-D", "--defined-only", self.library).split("\n")
        names = {line.split()[-1] for line in symbols if line}
        self.assertEqual(names, self.declared() | {"otel_thread_ctx_v1", "fathom_writer_v1"})


if __name__ == "__main__":
    main()
