"""Every test suite, in the order in which they run in their group. To add a suite, add a row."""

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
class Suite:
    name: str
    about: str
    parts: tuple[Compile | Ctest | Pytest, ...]
    minutes: int  # what it usually takes on two cores, everything cached
    # Suites with a group spend much of their time on waiting for other programs: groups run side by side, after all other
    # suites. How long those programs take is nobody's to say on a busy machine: a test that fails there is run once more, and
    # the end of the run tells its name.
    group: str = ""
    # Runs only when it is named: it takes what nobody needs who does not change its subject, such as other projects' programs.
    on_demand: bool = False

    @property
    def presets(self) -> list[str]:
        return list(dict.fromkeys(preset for part in self.parts for preset in part.presets))


SUITES = [
    Suite("arch", "who may include whom, and what pure code may call", (Ctest("release", "arch"),), 1),
    Suite("unit", "pure code and replayed fuzz seeds, gcc and clang", (Ctest("dev", "unit"), Compile("clang")), 2),
    Suite("asan", "the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer", (Ctest("asan", "unit"),), 2),
    Suite("sim", "the operator on virtual time: a thousand seeds of faults, and a crowd", (Ctest("release", "sim"),), 6),
    Suite("vipu", "vipu-server, vipu and the device tools against generic gRPC programs",
         (Pytest(("vipu",), "asan"), Pytest(("vipu/test_static.py",), "release")), 3, "API server"),
    Suite("launcher", "ipu-launch, its agents and real mpirun, with real processes and namespaces", (Pytest(("launcher",), "dev"),), 2,
         "processes"),
    Suite("mpi", "PopDist and poprun with a real mpirun, and PopDist's threads under ThreadSanitizer",
         (Pytest(("popdist",), "release"), Pytest(("popdist/test_python.py",), "asan"), Pytest(("poprun",), "release"),
          Ctest("tsan", "threads")), 5, "processes"),
    Suite("chart", "the resource definition, the Helm chart and the images", (Pytest(("chart", "images"), "release"),), 4, "API server"),
    Suite("component", "the sanitized operator against a real API server", (Pytest(("component",), "asan"),), 19, "API server"),
    Suite("cluster", "deploy/cluster and what it leaves behind", (Pytest(("cluster",)),), 4, "nodes"),
    Suite("e2e", "the release build with real pods", (Pytest(("e2e",), "release"),), 22, "nodes"),
    Suite("interop", "the chart with cert-manager's real controllers and a real Prometheus, which it builds first",
         (Pytest(("interop",), "release"),), 15, "nodes", on_demand=True),
]
