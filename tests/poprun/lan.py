"""poprun on the first of several hosts, which are network namespaces; see tests/lib/netns.py."""

import contextlib
import os

import calls
import netns


class Lan(calls.Poprun):
    """A Poprun whose calls are made on host0. The hosts have temporary folders of their own."""

    def __init__(self, folder, count=3, open_mpi=""):
        super().__init__(folder)
        self.open_mpi = open_mpi
        name, value = self.mark.split("=", 1)
        stale = {"IPUOF_CONFIG_PATH": "/remote", "POPDIST_AUTOREPORT_DIRECTORY": "/remote",
                 "POPDIST_EXECUTABLE_CACHE_PATH": "/remote", "POPDIST_NODE_DEVICE_ID": "77"}  # fmt: skip
        self.hosts = netns.Hosts(folder, count, own=(self.temporary,), TMPDIR=self.temporary, **{name: value}, **stale)
        self.has_agent = True

    def __enter__(self):
        self.hosts.__enter__()
        self.prefix = self.hosts.enter("host0")
        return self

    def __exit__(self, *_):
        self.hosts.__exit__()

    def environment(self, **more):
        agent = {"OMPI_MCA_plm_rsh_agent": str(self.hosts.agent)} if self.has_agent else {}
        return super().environment(**(agent | more))

    def own(self, name):
        """The temporary folder of a host, seen from here."""
        return self.hosts.own(name, self.temporary)

    def assert_clean(self, but=None):
        super().assert_clean()
        for name in set(self.hosts.names) - {but}:
            calls.until(lambda: not self._left(name), f"the temporary folder of {name} is empty")

    def _left(self, name):
        """Now and then a daemon of Open MPI 4.1 that srun starts makes an empty directory whose name is memory that it has
        let go of, in place of `ompi.HOST.UID`. Nobody can know it for Open MPI's, so it stays; here it is taken away."""
        for entry in self.own(name).glob("ompi.*"):
            if entry.name != f"ompi.{name}.0":
                with contextlib.suppress(OSError):  # not empty, or gone
                    entry.rmdir()
        return os.listdir(self.own(name))
