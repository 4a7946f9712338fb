"""Every test lane, in the order in which they run on their track. To add a lane, add a row."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Compile:
    """The build of a preset counts as one test: it passes if nothing warns."""

    preset: str

    @property
    def presets(self) -> list[str]:
        return [self.preset]


@dataclass(frozen=True)
class Ctest:
    """The compiled tests that have this label."""

    preset: str
    label: str

    @property
    def presets(self) -> list[str]:
        return [self.preset]


@dataclass(frozen=True)
class Pytest:
    """Python tests below tests/; where they run programs, those of the preset (BUILD_DIR names its folder)."""

    paths: tuple[str, ...]
    preset: str = ""

    @property
    def presets(self) -> list[str]:
        return [self.preset] if self.preset else []


@dataclass(frozen=True)
class Lane:
    name: str
    about: str
    suites: tuple[Compile | Ctest | Pytest, ...]
    minutes: int  # what it usually takes on two cores, everything cached
    # Lanes with a track spend much of their time on waiting for other programs: tracks run side by side, after all other
    # lanes. How long those programs take is nobody's to say on a busy machine: a test that fails there is run once more, and
    # the end of the run tells its name.
    track: str = ""
    # Runs only when it is named: it takes what nobody needs who does not change its subject, such as other projects' programs.
    on_demand: bool = False

    @property
    def presets(self) -> list[str]:
        return list(dict.fromkeys(preset for suite in self.suites for preset in suite.presets))


LANES = [
    Lane("arch", "who may include whom, and what pure code may call", (Ctest("release", "arch"),), 1),
    Lane("unit", "pure code and replayed fuzz seeds, gcc and clang", (Ctest("dev", "unit"), Compile("clang")), 2),
    Lane("asan", "the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer", (Ctest("asan", "unit"),), 2),
    Lane("sim", "the operator on virtual time: a thousand seeds of faults, and a crowd", (Ctest("release", "sim"),), 6),
    Lane("vipu", "vipu-server, vipu and the device tools against generic gRPC programs",
         (Pytest(("vipu",), "asan"), Pytest(("vipu/test_static.py",), "release")), 3, "API server"),
    Lane("launcher", "ipu-launch, its agents and real mpirun, with real processes and namespaces", (Pytest(("launcher",), "dev"),), 2,
         "processes"),
    Lane("mpi", "PopDist and poprun with a real mpirun, and PopDist's threads under ThreadSanitizer",
         (Pytest(("popdist",), "release"), Pytest(("popdist/test_python.py",), "asan"), Pytest(("poprun",), "release"),
          Ctest("tsan", "threads")), 5, "processes"),
    Lane("chart", "the resource definition, the Helm chart and the images", (Pytest(("chart", "images"), "release"),), 4, "API server"),
    Lane("component", "the sanitized operator against a real API server", (Pytest(("component",), "asan"),), 19, "API server"),
    Lane("cluster", "deploy/cluster and what it leaves behind", (Pytest(("cluster",)),), 4, "nodes"),
    Lane("e2e", "the release build with real pods", (Pytest(("e2e",), "release"),), 22, "nodes"),
    Lane("others", "the chart with cert-manager's real controllers and a real Prometheus, which it builds first",
         (Pytest(("others",), "release"),), 15, "nodes", on_demand=True),
]
