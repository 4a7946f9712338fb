"""Every test suite, in the order in which those of a group run. To add a suite, add a row."""

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
    workers: int = 1  # processes that share the tests; more than one where the tests mostly wait (tests/lib/workers.py)

    @property
    def presets(self) -> list[str]:
        return [self.preset] if self.preset else []


Part = Compile | Ctest | Pytest


@dataclass(frozen=True)
class Suite:
    name: str
    about: str
    parts: tuple[Part, ...]
    minutes: int  # usual duration within a whole run on two cores, with everything cached
    group: str  # groups run side by side, the suites of one group one after the other
    # Its tests wait for other programs, whose duration on a busy machine is unknown: a test that fails is retried when
    # all suites have ended, and reported as flaky if it then passes.
    may_retry: bool = True
    # Runs only when it is named: for what is needed only by those who change its subject, such as programs of other projects.
    on_demand: bool = False

    @property
    def presets(self) -> list[str]:
        return list(dict.fromkeys(preset for part in self.parts for preset in part.presets))

    @property
    def is_patient(self) -> bool:
        """Its tests read no clock: they take the processor time that the other groups leave."""
        return self.group == SIMULATION


PROCESSOR, SIMULATION = "processor", "simulation"
SUITES = [
    Suite("arch", "include rules, purity of the core, documented messages, names in Python",
          (Ctest("release", "arch"), Pytest(("arch",))), 1, PROCESSOR, may_retry=False),
    Suite("unit", "unit tests and fuzz corpora, gcc and clang", (Ctest("release", "unit"), Compile("clang")), 7, PROCESSOR, may_retry=False),
    Suite("asan", "the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer", (Ctest("asan", "unit"),), 8, PROCESSOR,
          may_retry=False),
    Suite("launcher", "ipu-launch, its agents and mpirun, with processes and namespaces", (Pytest(("launcher",), "release"),), 4, PROCESSOR),
    Suite("chart", "the resource definition, the Helm chart and the images", (Pytest(("chart", "images"), "release"),), 4, PROCESSOR),
    Suite("sim", "simulation with 1,000 fault seeds, and at scale", (Ctest("release", "sim"),), 25, SIMULATION, may_retry=False),
    Suite("vipu", "vipu-server, vipu and the device tools against generic gRPC programs",
          (Pytest(("vipu",), "asan"), Pytest(("vipu/test_static.py", "vipu/server/test_walls.py"), "release")), 14, "programs"),
    Suite("mpi", "PopDist and poprun with mpirun, and PopDist's threads under ThreadSanitizer",
          (Pytest(("popdist",), "release"), Pytest(("popdist/test_python.py",), "asan"), Pytest(("poprun",), "release"),
           Ctest("tsan", "threads")), 9, "programs"),
    Suite("page", "the live page in Chromium: views, reconnection, accessibility, text that is only text, its build", (Pytest(("page",)),), 1, "programs"),
    Suite("forecast", "the queue's engine against a brute-force oracle and AccaSim, through whole days, and its benchmark",
          (Pytest(("forecast",), "release"),), 3, "programs"),
    Suite("component", "the sanitized operator against a real API server", (Pytest(("component",), "asan", workers=4),), 17, "API server"),
    Suite("cluster", "deploy/cluster and its cleanup", (Pytest(("cluster",)),), 6, "API server"),
    Suite("e2e", "the release build with real pods", (Pytest(("e2e",), "release", workers=2),), 22, "pods"),
    Suite("local", "ipu-run: jobs without a cluster, with processes, mpirun and namespaces", (Pytest(("local",), "release"),), 2, "pods"),
    Suite("python", "the Python package ipu_jobs with a scripted API server and ipu-run, TorchX, wheels", (Pytest(("python",), "release"),), 3, "pods"),
    Suite("interop", "the chart with cert-manager's controllers and Prometheus, which are built first",
          (Pytest(("interop",), "release"),), 15, "pods", on_demand=True),
]
