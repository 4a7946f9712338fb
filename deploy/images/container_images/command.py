"""Command line of deploy/image."""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from local_cluster.paths import REPOSITORY
from local_cluster.errors import UserError

from . import build, recipe, sbom

DESCRIPTION = "Makes this project's container images without a Docker engine."
EPILOG = """\
An archive is a docker-archive tar: `deploy/cluster load`, `ctr images import` and `docker load` take it.
It is kept in ${XDG_CACHE_HOME:-~/.cache}/ipu-operator/images and made again only when its recipe
(deploy/images/NAME.toml), its programs or its Debian packages change. Equal inputs give equal bytes.

  deploy/cluster load $(deploy/image build ipu-operator)
  deploy/image push ipu-operator registry.example.com/team
"""


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise UserError(f"{message[0].upper()}{message[1:]} (see `deploy/image --help`).")


def main(arguments: list[str]) -> int:
    try:
        chosen = _parser().parse_args(arguments)
        chosen.run(chosen)
        return 0
    except UserError as error:
        print(f"deploy/image: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("deploy/image: interrupted.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="deploy/image", description=DESCRIPTION, epilog=EPILOG,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)

    listing = commands.add_parser("list", help="the images there are recipes for")
    listing.set_defaults(run=_list)

    making = commands.add_parser("build", help="build an image and print the path of its archive")
    making.add_argument("--output", metavar="FILE.tar", type=Path, help="also copy the archive there")
    making.set_defaults(run=_build)

    materials = commands.add_parser("sbom", help="build an image and print its software bill of materials (SPDX 2.3 JSON)")
    materials.set_defaults(run=_sbom)

    pushing = commands.add_parser("push", help="make an image and push it to a registry, with skopeo")
    pushing.set_defaults(run=_push)

    for command in [making, materials, pushing]:
        command.add_argument("name", metavar="NAME", help="one of those that `deploy/image list` names")
        command.add_argument("--tag", default=build.version(), help="tag of the image (default: %(default)s)")
        command.add_argument("--build-dir", type=Path, help="folder with the built programs (default: $IPU_BUILD_DIR, "
                             "or build/release)")
    pushing.add_argument("prefix", metavar="PREFIX", help="registry and path, such as registry.example.com/team")
    pushing.add_argument("--insecure", action="store_true", help="allow a registry without TLS")
    return parser


def _list(_chosen) -> None:
    for name in recipe.names():
        print(f"{name:14} {recipe.load(name).about}")


def _made(chosen) -> Path:
    folder = chosen.build_dir or Path(os.environ.get("IPU_BUILD_DIR") or REPOSITORY / "build" / "release")
    return build.build(recipe.load(chosen.name), folder, chosen.tag)


def _build(chosen) -> None:
    made = _made(chosen)
    if chosen.output:
        shutil.copyfile(made, chosen.output)
    print(chosen.output or made)


def _sbom(chosen) -> None:
    print(sbom.read(_made(chosen), chosen.name), end="")


def _push(chosen) -> None:
    if not shutil.which("skopeo"):
        raise UserError("skopeo is required to push images; run `deploy/prerequisites images` to install it.")
    address = f"{chosen.prefix.rstrip('/')}/ipu-operator/{chosen.name}:{chosen.tag}"
    options = ["--dest-tls-verify=false"] if chosen.insecure else []
    done = subprocess.run(["skopeo", "copy", "--insecure-policy", *options, f"docker-archive:{_made(chosen)}",
                           f"docker://{address}"], check=False, stdout=sys.stderr)
    if done.returncode:
        raise UserError(f"Cannot push the image to {address}; see skopeo's message above.")
    print(address)
