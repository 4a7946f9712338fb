"""A real Kubernetes on one machine, for tests and for trying things out.

command.py       the command line: up, down, status, ...
cluster.py       one cluster: starts and stops the parts below in order
control_plane.py etcd, kube-apiserver, kube-controller-manager, kube-scheduler
node.py          containerd, kubelet, kube-proxy, CoreDNS in namespaces of their own
node_files.py    the configuration files of those four
addresses.py     subnet and ports of a cluster (pure)
network.py       the host's bridge, the veths, and networks and ports in use
programs.py      builds and caches the programs of the local Kubernetes version
other_versions.py control planes of other Kubernetes versions
go_programs.py   other programs built from Go modules (KWOK, kubeconform, ...)
fake_nodes.py    fake nodes whose pods only appear to run
certificates.py  the authority, the certificates, the kubeconfigs
processes.py     starts, finds and ends the processes of a cluster
cgroups.py       the control groups of a node
images.py        imports image archives; the sandbox image
api.py           requests to the API server
paths.py         names and folders
locks.py         file locks
errors.py        errors for the user
wait.py          waiting for conditions
subprocesses.py  running other programs
"""
