"""The images: built, and brought to where the cluster's nodes find them."""

from local_cluster.places import REPOSITORY

from .stage import answer
from .target import Target

IMAGE = REPOSITORY / "deploy" / "image"
NAMES = ["ipu-operator", "vipu-server", "ipu-launch", "ipu-examples"]
EXAMPLES = "ipu-operator/ipu-examples"


def build() -> dict[str, str]:
    """The archive of each image. Its file name has a hash of what is in it."""
    return {name: answer(IMAGE, "build", name, limit_s=1800) for name in NAMES}


def deliver(archives: dict[str, str], target: Target, registry: str | None) -> None:
    if registry:
        for name in NAMES:
            print(f"      pushed {answer(IMAGE, 'push', name, registry, limit_s=1800)}", flush=True)
    elif target.is_local:
        for archive in archives.values():
            target.load(archive)
    else:
        _tell_how(archives, target.context)


def _tell_how(archives: dict[str, str], context: str | None) -> None:
    print("      No --image-registry was given, so the nodes must have these images already. To put them into each node's\n"
          "      container runtime, copy the archives there and run:")
    for archive in archives.values():
        print(f"        ctr --namespace k8s.io images import {archive}")
    print("      To push them to a registry from which the nodes pull (PREFIX, such as registry.example.com/team):")
    for name in NAMES:
        print(f"        deploy/image push {name} PREFIX")
    print(f"        deploy/quickstart --context {context} --image-registry PREFIX", flush=True)
