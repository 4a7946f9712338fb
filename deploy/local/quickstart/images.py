"""Builds the images and delivers them to the cluster's nodes."""

from local_cluster.paths import REPOSITORY

from .progress import output_of
from .target_cluster import TargetCluster

IMAGE = REPOSITORY / "deploy" / "image"
NAMES = ["ipu-operator", "vipu-server", "ipu-launch", "ipu-examples"]
EXAMPLES = "ipu-operator/ipu-examples"


def build() -> dict[str, str]:
    """Archive path by image name. The file name contains a hash of the content."""
    return {name: output_of(IMAGE, "build", name, limit_s=1800) for name in NAMES}


def deliver(archives: dict[str, str], target: TargetCluster, registry: str | None) -> None:
    if registry:
        for name in NAMES:
            print(f"      pushed {output_of(IMAGE, 'push', name, registry, limit_s=1800)}", flush=True)
    elif target.is_local:
        for archive in archives.values():
            target.load(archive)
    else:
        _print_instructions(archives, target.context)


def _print_instructions(archives: dict[str, str], context: str | None) -> None:
    print("      Without --image-registry, the nodes must already have these images. To import them, copy the archives to\n"
          "      each node and run:")
    for archive in archives.values():
        print(f"        ctr --namespace k8s.io images import {archive}")
    print("      Or push them to a registry the nodes can pull from (PREFIX, such as registry.example.com/team):")
    for name in NAMES:
        print(f"        deploy/image push {name} PREFIX")
    print(f"        deploy/quickstart --context {context} --image-registry PREFIX", flush=True)
