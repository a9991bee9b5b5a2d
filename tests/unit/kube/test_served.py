"""Which version a kind is spoken of in, over time; the server is a table that a test changes."""

from dataclasses import dataclass, field
from threading import Barrier, Thread

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.errors import ApiError, NotFoundError
from dra_console.kube.kinds import DEVICE_TAINT_RULES, PODS, RESOURCE_CLAIMS, Kind
from dra_console.kube.served import FRESH_SECONDS, MISSING_SECONDS, ServedVersions
from dra_console.kube.transport import Request

CLAIMS = frozenset({"resourceclaims"})
RULES = frozenset({"devicetaintrules"})


@dataclass
class Server:
    """Answers discovery from its table, and requests at paths that the table has."""

    plurals: dict[str, frozenset[str]]
    looks: int = 0
    is_away: bool = False
    now: float = 0.0
    sent: list[str] = field(default_factory=list)

    def ask(self, request: Request) -> JsonObject:
        if self.is_away:
            raise ApiError("away")
        version = request.path.removeprefix("/apis/resource.k8s.io").strip("/")
        if not version:
            self.looks += 1
            if not self.plurals:
                raise NotFoundError("404 page not found", status=404)
            versions: list[Json] = [{"version": each} for each in self.plurals]
            return {"versions": versions}
        resources: list[Json] = [{"name": each} for each in self.plurals[version]]
        return {"resources": resources}

    def send(self, served: Kind) -> str:
        self.sent.append(served.version)
        if served.plural not in self.plurals.get(served.version, ()):
            raise NotFoundError("the server could not find the requested resource", status=404)
        return served.version

    def versions(self) -> ServedVersions:
        return ServedVersions(self.ask, clock=lambda: self.now)


@pytest.mark.parametrize(
    ("served", "spoken"),
    [
        (("v1alpha3", "v1beta1", "v1beta2", "v1"), "v1"),
        (("v1beta1", "v1beta2"), "v1beta2"),
        (("v1beta1", "v2"), "v1beta1"),
    ],
)
def test_the_newest_version_that_both_know_is_spoken(served: tuple[str, ...], spoken: str) -> None:
    server = Server(dict.fromkeys(served, CLAIMS))

    assert server.versions().of(RESOURCE_CLAIMS).version == spoken


def test_versions_are_chosen_for_each_kind() -> None:
    versions = Server({"v1": CLAIMS, "v1beta2": CLAIMS, "v1alpha3": RULES}).versions()

    assert versions.of(RESOURCE_CLAIMS).version == "v1"
    assert versions.of(DEVICE_TAINT_RULES).version == "v1alpha3"


def test_kinds_of_other_groups_cost_no_look() -> None:
    server = Server({"v1": CLAIMS})

    assert server.versions().of(PODS) is PODS
    assert server.looks == 0


def test_discovery_is_asked_once_for_many_requests() -> None:
    server = Server({"v1": CLAIMS})
    versions = server.versions()

    for _ in range(100):
        versions.speaking(RESOURCE_CLAIMS, server.send)

    assert (server.looks, len(server.sent)) == (1, 100)


def test_a_version_that_was_switched_off_is_left_at_once() -> None:
    server = Server({"v1": CLAIMS, "v1beta1": CLAIMS})
    versions = server.versions()
    versions.speaking(RESOURCE_CLAIMS, server.send)
    server.now = 10
    del server.plurals["v1"]

    assert versions.speaking(RESOURCE_CLAIMS, server.send) == "v1beta1"
    assert versions.speaking(RESOURCE_CLAIMS, server.send) == "v1beta1"
    assert server.sent == ["v1", "v1", "v1beta1", "v1beta1"]


def test_a_version_that_an_upgrade_brought_is_taken_up_after_a_while() -> None:
    server = Server({"v1beta1": CLAIMS})
    versions = server.versions()
    versions.speaking(RESOURCE_CLAIMS, server.send)
    server.plurals["v1"] = CLAIMS

    server.now = FRESH_SECONDS
    assert versions.speaking(RESOURCE_CLAIMS, server.send) == "v1beta1"
    server.now = FRESH_SECONDS + 1
    assert versions.speaking(RESOURCE_CLAIMS, server.send) == "v1"


def test_an_object_that_is_not_there_costs_no_look() -> None:
    server = Server({"v1": CLAIMS})
    versions = server.versions()

    def missing(_: Kind) -> None:
        raise NotFoundError("no such claim", status=404, names_object=True)

    server.now = 10
    with pytest.raises(NotFoundError, match="no such claim"):
        versions.speaking(RESOURCE_CLAIMS, missing)

    assert server.looks == 1


def test_paths_with_nothing_behind_them_do_not_turn_into_a_storm_of_looks() -> None:
    server = Server({"v1": CLAIMS})
    versions = server.versions()

    def nothing(_: Kind) -> None:
        raise NotFoundError("the server could not find the requested resource", status=404)

    for server.now in (0.1 * step for step in range(50)):
        with pytest.raises(NotFoundError):
            versions.speaking(RESOURCE_CLAIMS, nothing)

    assert server.looks <= 4


def test_a_look_that_fails_changes_nothing() -> None:
    server = Server({"v1beta2": CLAIMS})
    versions = server.versions()
    versions.of(RESOURCE_CLAIMS)
    server.is_away, server.now = True, FRESH_SECONDS + 1

    assert versions.of(RESOURCE_CLAIMS).version == "v1beta2"


def test_without_any_look_the_failure_is_the_answer() -> None:
    server = Server({"v1": CLAIMS}, is_away=True)
    versions = server.versions()

    with pytest.raises(ApiError, match="away"):
        versions.of(RESOURCE_CLAIMS)
    server.is_away = False
    assert versions.of(RESOURCE_CLAIMS) is RESOURCE_CLAIMS


@pytest.mark.parametrize(
    ("plurals", "words"),
    [
        (
            {"v1beta1": CLAIMS},
            (
                "devicetaintrules: looked for resource.k8s.io in v1, v1beta2 or v1alpha3; the API"
                " server has resource.k8s.io in v1beta1, without devicetaintrules"
            ),
        ),
        (
            {"v1beta1": RULES, "v1beta3": CLAIMS},
            (
                "devicetaintrules: looked for resource.k8s.io in v1, v1beta2 or v1alpha3; the API"
                " server has devicetaintrules in v1beta1 only"
            ),
        ),
        (
            {"v2": RULES},
            (
                "devicetaintrules: looked for resource.k8s.io in v1, v1beta2 or v1alpha3; the API"
                " server has it in v2 only, which this release does not know"
            ),
        ),
        (
            {},
            (
                "devicetaintrules: looked for resource.k8s.io in v1, v1beta2 or v1alpha3; the API"
                " server has nothing of resource.k8s.io: dynamic resource allocation is off, or the"
                " server is older than 1.32"
            ),
        ),
    ],
)
def test_a_kind_in_no_known_version_is_not_found_and_says_why(
    plurals: dict[str, frozenset[str]], words: str
) -> None:
    server = Server(plurals)

    with pytest.raises(NotFoundError) as refused:
        server.versions().speaking(DEVICE_TAINT_RULES, server.send)

    assert str(refused.value) == words
    assert server.sent == []


def test_a_kind_that_was_missing_is_looked_for_again_soon() -> None:
    server = Server({"v1": CLAIMS})
    versions = server.versions()
    with pytest.raises(NotFoundError):
        versions.of(DEVICE_TAINT_RULES)
    server.plurals["v1"] = CLAIMS | RULES

    with pytest.raises(NotFoundError):
        versions.of(DEVICE_TAINT_RULES)
    server.now = MISSING_SECONDS + 1
    assert versions.of(DEVICE_TAINT_RULES) is DEVICE_TAINT_RULES


def test_threads_that_find_a_version_gone_look_once_for_all() -> None:
    server = Server({"v1": CLAIMS, "v1beta1": CLAIMS})
    versions = server.versions()
    versions.of(RESOURCE_CLAIMS)
    del server.plurals["v1"]
    server.now = 10
    together = Barrier(8)
    spoken: list[str] = []

    def send(served: Kind) -> str:
        if served.version == "v1":
            together.wait(timeout=5)
        return server.send(served)

    threads = [
        Thread(target=lambda: spoken.append(versions.speaking(RESOURCE_CLAIMS, send)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert spoken == ["v1beta1"] * 8
    assert server.looks == 2
