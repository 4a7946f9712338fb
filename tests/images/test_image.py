"""Images made without a Docker engine: what is in them, and that equal inputs give equal bytes."""

import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMAGE = ROOT / "deploy" / "image"
sys.path[:0] = [str(ROOT / "deploy" / "images"), str(ROOT / "deploy" / "local")]

from container_images import archive, build, programs, recipe, wheels  # noqa: E402
from container_images.rootfs import RootFilesystem  # noqa: E402
from local_cluster.errors import UserError  # noqa: E402


REDUCE = """
import os
import numpy
os.environ["POPDIST_REPLICA_INDEX_OFFSET"] = os.environ["POPDIST_LOCAL_INSTANCE_INDEX"] = os.environ["OMPI_COMM_WORLD_RANK"]
import popdist
from popdist import collectives
popdist.init()
value = numpy.array([1.0 + popdist.getInstanceIndex()])
collectives.allReduceSum(value, "value")
os.write(1, f"{value[0]}\\n".encode())
"""
TWO_INSTANCES = {"POPDIST_NUM_TOTAL_REPLICAS": "2", "POPDIST_NUM_LOCAL_REPLICAS": "1", "POPDIST_NUM_IPUS_PER_REPLICA": "1",
                 "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE": "1"}


def run(*args, **environment):
    return subprocess.run([IMAGE, *args], capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)


def layer_of(image):
    with tarfile.open(image) as tar:
        manifest = json.load(tar.extractfile("manifest.json"))[0]
        config = json.load(tar.extractfile(manifest["Config"]))
        layer = tar.extractfile(manifest["Layers"][0]).read()
    assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest()]
    return manifest, config, tarfile.open(fileobj=io.BytesIO(layer))


def unpacked(image, folder):
    _, _, layer = layer_of(image)
    layer.extractall(folder, filter="fully_trusted")
    folder.chmod(0o755)  # pytest's folders are root's alone
    return folder


@pytest.fixture(scope="module")
def examples():
    done = run("build", "ipu-examples")
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture
def built(tmp_path):
    """A build folder with small programs under the names of ours."""
    folder = tmp_path / "build"
    for name, flags in [("ipu-operator", []), ("vipu-server", ["-lsqlite3"]), ("vipu", []), ("ipu-launch", ["-static"]),
                        ("ipu-tools", ["-static"]), ("ipu-nopty.so", ["-shared", "-fPIC", "-nostdlib"])]:
        place = folder / name.split("-")[0]
        place.mkdir(parents=True, exist_ok=True)
        source = tmp_path / f"{name}.c"
        source.write_text(f'#include <stdio.h>\nint main(void) {{ return puts("{name}") < 0; }}\n')
        subprocess.run(["gcc", "-o", place / name, source, "-Wl,--no-as-needed", *flags], check=True)
    return folder


# ---- the rootfs ------------------------------------------------------------------------------------------------------


def test_links_among_the_parents_are_followed():
    rootfs = RootFilesystem()
    rootfs.add_link("/lib", "usr/lib")
    rootfs.add_file("/lib/x86/libc.so", b"c")
    rootfs.add_directory("/lib")
    assert rootfs.entries["/lib"].kind == "link"
    assert rootfs.entries["/usr/lib/x86/libc.so"].content == b"c"
    assert rootfs.entries["/usr"].kind == "directory"


def test_the_last_file_of_a_path_wins():
    rootfs = RootFilesystem()
    rootfs.add_file("/a/b", b"first")
    rootfs.add_file("a/./b", b"second", 0o755)
    assert rootfs.entries["/a/b"].content == b"second"
    assert rootfs.entries["/a/b"].mode == 0o755


def test_equal_trees_make_equal_bytes_whatever_the_order(tmp_path):
    about = recipe.Recipe(about="test", entrypoint=["/a"])
    for name, paths in [("one", ["/a", "/b/c"]), ("two", ["/b/c", "/a"])]:
        rootfs = RootFilesystem()
        for path in paths:
            rootfs.add_file(path, path.encode())
        archive.write(tmp_path / name, rootfs, about, "docker.io/test/test:1")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    _, _, layer = layer_of(tmp_path / "one")
    assert layer.getnames() == ["a", "b", "b/c"]
    assert {(member.mtime, member.uid, member.gid) for member in layer} == {(0, 0, 0)}


# ---- recipes and programs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, says",
    [
        ('about = "x"\nentry = ["/a"]\n', "unknown key entry"),
        ('about = "x"\n[debian]\npackage = []\n', "unknown key debian.package"),
        ('about = \n', "line 1"),
        ("user = 'x'\n", "about"),
    ],
)
def test_wrong_recipes_are_rejected_with_the_reason(tmp_path, text, says):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=says):
        recipe.read(file)


@pytest.mark.parametrize("count, says", [(0, "is not there"), (2, "is there 2 times")])
def test_a_program_must_be_there_once(tmp_path, count, says):
    for number in range(count):
        file = tmp_path / str(number) / "vipu"
        file.parent.mkdir()
        file.touch(0o755)
    with pytest.raises(UserError, match=says):
        programs.find("vipu", tmp_path)


def test_an_unknown_image_is_rejected_by_name():
    done = run("build", "ipu-unknown")
    assert done.returncode == 1
    assert "Unknown image 'ipu-unknown', expected one of: ipu-examples, ipu-launch, ipu-operator, vipu-server." in done.stderr


# ---- the images ----------------------------------------------------------------------------------------------------


def made(built, tmp_path, command, name, *words):
    """What a command of images says about the image of this name."""
    done = run(command, name, "--build-dir", built, *words, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_operator_image_runs_in_an_empty_root(built, tmp_path):
    made(built, tmp_path, "build", "ipu-operator", "--output", tmp_path / "image.tar")
    manifest, config, layer = layer_of(tmp_path / "image.tar")
    assert manifest["RepoTags"] == [f"docker.io/ipu-operator/ipu-operator:{build.version()}"]
    assert config["config"]["Entrypoint"] == ["/usr/bin/ipu-operator"]
    assert config["config"]["User"] == "65532:65532"
    assert any(name.endswith("/libwebsockets-evlib_uv.so") for name in layer.getnames())
    assert layer.getmember("tmp").mode == 0o1777
    root = unpacked(tmp_path / "image.tar", tmp_path / "root")
    ran = subprocess.run(["chroot", root, "/usr/bin/ipu-operator"], capture_output=True, text=True, check=True)
    assert ran.stdout == "ipu-operator\n"


def test_image_of_the_simulated_controller_has_its_client(built, tmp_path):
    archive = made(built, tmp_path, "build", "vipu-server")
    root = unpacked(archive, tmp_path / "root")
    for name in ["vipu-server", "vipu"]:
        ran = subprocess.run(["chroot", root, f"/usr/bin/{name}"], capture_output=True, text=True, check=True)
        assert ran.stdout == f"{name}\n"


def test_launcher_image_holds_two_static_files_and_a_library_without_dependencies(built, tmp_path):
    _, _, layer = layer_of(made(built, tmp_path, "build", "ipu-launch"))
    files = [member.name for member in layer if member.isfile()]
    assert [name for name in files if not name.startswith("usr/share/doc/")] == ["ipu-launch", "ipu-nopty.so", "ipu-tools"]


def materials(built, tmp_path, name):
    return json.loads(made(built, tmp_path, "sbom", name))


def test_materials_are_the_packages_of_every_library(built, tmp_path):
    output = materials(built, tmp_path, "vipu-server")
    assert (output["spdxVersion"], output["dataLicense"]) == ("SPDX-2.3", "CC0-1.0")
    packages = {package["name"]: package for package in output["packages"]}
    assert packages.keys() >= {"vipu-server", "libc6", "libsqlite3-0"}
    assert all(package["versionInfo"] for package in packages.values())
    contained = {relation["relatedSpdxElement"] for relation in output["relationships"] if relation["relationshipType"] == "CONTAINS"}
    assert contained == {package["SPDXID"] for package in packages.values()} - {packages["vipu-server"]["SPDXID"]}
    _, _, layer = layer_of(made(built, tmp_path, "build", "vipu-server"))
    assert "usr/share/doc/libsqlite3-0/copyright" in layer.getnames()


def test_materials_name_what_was_linked_into_a_static_program(built, tmp_path):
    archive = subprocess.run(["gcc", "-print-file-name=libc.a"], capture_output=True, text=True, check=True).stdout.strip()
    (built / "ipu" / "ipu-launch.inputs").write_text(f"ipu/ipu-launch: \\\n  ipu/main.o \\\n  {archive}\n\n{archive}:\n")
    assert {"ipu-launch", "libc6-dev"} == {package["name"] for package in materials(built, tmp_path, "ipu-launch")["packages"]}


def test_same_programs_give_the_same_image_and_others_another(built, tmp_path):
    def digest(archive):
        return hashlib.sha256(archive.read_bytes()).hexdigest()

    def launcher():
        return Path(made(built, tmp_path, "build", "ipu-launch"))

    first = digest(launcher())
    shutil.rmtree(tmp_path / "cache")
    again = launcher()
    assert digest(again) == first
    shutil.copyfile(built / "vipu" / "vipu", built / "ipu" / "ipu-launch")
    assert digest(launcher()) != first
    assert digest(again) == first, "who was told of it may be about to load it"
    os.utime(again, (0, 0))
    shutil.copyfile(built / "vipu" / "vipu-server", built / "ipu" / "ipu-launch")
    assert launcher().exists() and not again.exists()


def test_examples_image_has_what_jobs_use(examples, tmp_path):
    root = unpacked(examples, tmp_path)
    script = "set -e; echo ready | grep read | sed s/ready/fine/; tar --version >/dev/null; sh -c 'sleep 0'; id -u"
    ran = subprocess.run(["chroot", root, "/bin/bash", "-c", script], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "fine\n0\n"), ran.stderr


def test_examples_image_starts_several_instances(examples, tmp_path):
    """Open MPI finds all that it needs, without ssh and as a user without a name; PopDist finds Open MPI."""
    root = unpacked(examples, tmp_path)
    null = root / "dev" / "null"
    os.mknod(null, stat.S_IFCHR, os.makedev(1, 3))
    null.chmod(0o666)
    words = ["mpirun", "-np", "2", "--oversubscribe", "--bind-to", "none", "python3", "-c", REDUCE]
    ran = subprocess.run([shutil.which("chroot"), "--userspec=12345:12345", root, *words], capture_output=True, text=True, timeout=120,
                         env={"PATH": "/usr/bin", "HOME": "/tmp", "OMPI_MCA_plm": "isolated"} | TWO_INSTANCES)
    assert (ran.returncode, ran.stdout) == (0, "3.0\n3.0\n"), ran.stderr


def test_same_sources_give_the_same_python_package(tmp_path):
    trees = [RootFilesystem(), RootFilesystem()]
    for number, rootfs in enumerate(trees):
        wheels.add(rootfs, {"/packages": "popdist"}, tmp_path / str(number))
    assert trees[0].entries == trees[1].entries
    assert trees[0].entries["/packages/popdist/libpopdist.so.1"].mode == 0o755


def test_digits_example_learns_to_read(examples, tmp_path):
    root = unpacked(examples, tmp_path)
    environment = {"PATH": "/usr/sbin:/usr/bin", "IPUOF_VIPU_API_PARTITION_ID": "p-digits-default-0"}
    ran = subprocess.run(["chroot", "--userspec=65532:65532", root, "/usr/bin/python3", "/examples/digits.py",
                          "--replicas", "4"], capture_output=True, text=True, env=environment, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "IPUOF_VIPU_API_PARTITION_ID=p-digits-default-0\n" in ran.stdout
    epochs = [line.split() for line in ran.stdout.splitlines() if line.startswith("epoch")]
    assert len(epochs) == 12
    assert float(epochs[-1][-1]) > 0.9
    assert float(epochs[-1][-3]) < float(epochs[0][-3])


def test_digits_example_fails_when_it_learns_nothing(examples, tmp_path):
    root = unpacked(examples, tmp_path)
    ran = subprocess.run(["chroot", root, "/usr/bin/python3", "/examples/digits.py", "--epochs", "1", "--rate", "0"],
                         capture_output=True, text=True, timeout=120)
    assert ran.returncode == 1
    assert "is below 0.9: training has failed" in ran.stderr


def test_example_job_uses_the_image_that_is_built():
    manifest = (ROOT / "deploy" / "examples" / "digits.yaml").read_text()
    assert f"image: ipu-operator/ipu-examples:{build.version()}\n" in manifest
