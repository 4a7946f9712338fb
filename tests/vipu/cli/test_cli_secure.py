"""The command line with a controller in secure mode, over TLS."""

import re

import pytest

from programs import run_program, until

KEY = "685X_K4uCzN-planted"


@pytest.fixture
def server(serve, certificate):
    return serve(f"""
secure: true
create-ms: 0
remove-ms: 0
tls: {{certificate: {certificate.pem}, key: {certificate.key}}}
users:
  - {{id: alice, access-key: {KEY}, allocations: [left]}}
clusters: [{{id: cl1, allocations: [{{id: left, agents: [ag1, ag2]}}]}}]
""")


@pytest.fixture
def vipu(server, tmp_path):
    def run(*words, env=None):
        done = run_program("vipu", "-P", str(server.port), *words, env={"HOME": str(tmp_path), **(env or {})})
        assert KEY not in done.stdout + done.stderr
        return done

    return run


def test_a_file_of_the_user(vipu, server, authority, tmp_path):
    """Per-user files `<user>.vipu-cli.hcl` [...] hold the user id and key too.
    On record: users have configuration files of their own with their id and key."""
    path = tmp_path / "alice.vipu-cli.hcl"
    path.write_text(f'api-host = "localhost"\napi-port = "{server.port}"\napi-user-id = "alice"\n'
                    f'api-access-key = "{KEY}"\napi-tls = true\napi-ca-cert = "{authority.pem}"\n')
    for words, env in ((["--config", str(path)], {}), ([], {"VIPU_CLI_CONFIG": str(path)})):
        made = vipu(*words, "create", "partition", "p1", "--size", "4", env=env)
        assert (made.returncode, made.stdout, made.stderr) == (0, "create partition (p1): success.\n", "")
        listed = vipu(*words, "list", "partitions", env=env)
        assert re.search(r"cl1 +\| left +\| p1 ", listed.stdout)
        assert vipu(*words, "remove", "partition", "p1", env=env).returncode == 0


def test_options_and_variables(vipu, authority):
    """On record: --api-user-id and --api-access-key are for secure mode."""
    env = {"VIPU_CLI_API_USER_ID": "alice", "VIPU_CLI_API_ACCESS_KEY": KEY, "VIPU_CLI_API_TLS": "true",
           "VIPU_CLI_API_CA_CERT": str(authority.pem)}
    for words, env in ((["--api-user-id", "alice", "--api-access-key", KEY, "--api-ca-cert", str(authority.pem)], {}),
                       ([], env)):
        done = vipu("-H", "127.0.0.1", *words, "list", "allocations", env=env)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert re.search(r"^left +\| ag1 ag2$", done.stdout, re.MULTILINE)


def test_who_may_not(vipu, authority):
    trust = ["-H", "127.0.0.1", "--api-ca-cert", str(authority.pem)]
    wrong = 'secure mode: user "{}" does not exist, or its access key '  # "is wrong", and then "was wrong just now"
    for words, why in (([], "secure mode: user ID and access key required, none sent"),
                       (["--api-user-id", "alice"], "secure mode: access key required, none sent"),
                       (["--api-user-id", "bob", "--api-access-key", KEY], wrong.format("bob")),
                       (["--api-user-id", "alice", "--api-access-key", "wrong"], wrong.format("alice"))):
        for command in (["list", "partitions"], ["create", "partition", "p1", "--size", "1"], ["list", "clusters"]):
            rejected = vipu(*trust, *words, *command)
            assert (rejected.returncode, rejected.stdout) == (1, "")
            assert why in rejected.stderr


def test_whom_not_to_trust(vipu, stranger, tmp_path):
    """Each ends at once, with what is wrong and what helps."""
    for words, part in ((["-H", "127.0.0.1", "--api-tls"], "--api-ca-cert"),
                        (["-H", "127.0.0.1", "--api-ca-cert", str(stranger.pem)], "--api-ca-cert"),
                        (["-H", "127.0.0.1", "--api-ca-cert", str(tmp_path / "none.pem")], "none.pem"),
                        (["-H", "127.0.0.1"], "does it require TLS (--api-tls)?")):
        rejected = vipu(*words, "--api-timeout", "5", "list", "partitions")
        assert (rejected.returncode, rejected.stdout) == (1, "") and part in rejected.stderr, rejected.stderr


def test_completion_knows_the_user(server, authority, tmp_path):
    env = {"VIPU_CLI_API_USER_ID": "alice", "VIPU_CLI_API_ACCESS_KEY": KEY, "VIPU_CLI_API_CA_CERT": str(authority.pem),
           "VIPU_CLI_API_HOST": "127.0.0.1", "VIPU_CLI_API_PORT": str(server.port), "HOME": str(tmp_path)}

    def offered():
        done = run_program("vipu", "__complete", "list", "partitions", "--allocation", "", env=env, check=True)
        return done.stdout.split()

    # It gives up after some seconds rather than keep a user waiting, and a busy machine may need more.
    until(lambda: offered() == ["left"], "the user's allocation is offered")
