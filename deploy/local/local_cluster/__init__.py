"""A real Kubernetes on one machine, for tests and for trying things out.

command.py       the command line: up, down, status, ...
cluster.py       one cluster: brings the parts below up and down in order
control_plane.py etcd, kube-apiserver, kube-controller-manager, kube-scheduler
node.py          containerd, kubelet, kube-proxy, CoreDNS in namespaces of their own
node_files.py    the configuration files that those four read
addresses.py     which subnet and ports a cluster has (pure)
network.py       the host's bridge, the veths, and what is taken on this machine
programs.py      builds and caches the programs
certificates.py  the authority, the certificates, the kubeconfigs
processes.py     starts, finds and ends the processes of a cluster
cgroups.py       the control groups of a node
images.py        image archives in, the sandbox image
api.py           requests to the API server
places.py        names and folders; locks.py: one at a time; problem.py: errors;
waiting.py: conditions; external.py: other programs
"""
