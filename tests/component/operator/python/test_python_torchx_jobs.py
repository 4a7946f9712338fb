"""TorchX with the scheduler `ipu` on a real API server."""

from torchx_program import torchx  # noqa: F401
from waiting import until


def test_run_status_list_and_cancel(world, vipu, user_kubeconfig, torchx):  # noqa: F811
    world.start_operator(vipu.address)
    world.automatic()

    def types(*words):
        return torchx(*words, kubeconfig=user_kubeconfig)

    handle = types("run", "-s", "ipu", "-cfg", "ipus=4", "utils.sh", "--image", "train:1", "--num_replicas", "2",
                   "train", "--rank", "${replica_id}").strip().splitlines()[-1]
    app = handle.rpartition("/")[2]
    name = app.removeprefix(f"{world.ns}:")
    assert handle == f"ipu://torchx/{world.ns}:{name}"
    until(lambda: "State: RUNNING" in types("status", handle), "the app runs", tell=world.tell)
    pods = world.api.list("pods", world.ns)
    assert len(pods) == 2 and pods[0]["spec"]["containers"][0]["command"][-1] == "train --rank '$(IPU_JOB_WORKER_INDEX)'"
    assert app in types("list", "-s", "ipu")
    types("cancel", handle)
    until(lambda: "State: CANCELLED" in types("status", handle), "the app is canceled", tell=world.tell)
    assert not vipu.partitions() and world.api.get("ipujobs", world.ns, name)
