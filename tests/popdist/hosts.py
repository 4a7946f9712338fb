"""Instances on several hosts of this machine, without poprun."""

import os
import subprocess

import netns
import runs


class Hosts(netns.Hosts):
    def mpirun(self, words, expect=0, per_host=1, **variables):
        """One instance after the other, per_host on each host; run from the first."""
        count = len(self.names) * per_host
        command = [*self.enter("host0"), "mpirun", "--allow-run-as-root", "--bind-to", "none",
                   "--mca", "plm_rsh_agent", str(self.agent), "--mca", "btl", "self,vader,tcp",
                   "--mca", "oob_tcp_if_include", netns.SUBNET, "--mca", "btl_tcp_if_include", netns.SUBNET]  # fmt: skip
        for index in range(count):
            given = variables | {"POPDIST_NUM_TOTAL_REPLICAS": count, "POPDIST_REPLICA_INDEX_OFFSET": index,
                                 "POPDIST_LOCAL_INSTANCE_INDEX": index % per_host}  # fmt: skip
            exports = [word for name, value in given.items() for word in ("-x", f"{name}={value}")]
            host = self.names[index // per_host]
            command += [":"] * (index > 0) + ["-np", "1", "--host", f"{host}:{per_host}", *exports, *map(str, words)]
        done = subprocess.run(command, env=runs.clean_environment(), capture_output=True, text=True, check=False,
                              timeout=runs.DEADLINE_S, cwd=os.sep)  # fmt: skip
        assert done.returncode == expect, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout
