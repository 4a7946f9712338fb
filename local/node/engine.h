/* What runs a pod's containers. */
#pragma once

enum engine {
    ENGINE_PROCESS, /* the programs of this machine, see sandbox.h */
    ENGINE_PODMAN,  /* the containers' images, see podman.h */
    ENGINES
};
