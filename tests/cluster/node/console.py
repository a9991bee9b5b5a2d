"""What a person sees in the console: its REST API and its pages, over HTTP, as that person."""

import http.cookiejar
import json
import re
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from http.client import HTTPResponse
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import urlencode

from tests.cluster.rig import Cluster
from tests.cluster.rig.process import free_ports
from tests.cluster.scheduling.console import CLUSTER, RunningConsole, running_console
from tests.cluster.workloads import eventually

PERSON: Final = "watcher"
PASSWORD: Final = "looks-at-everything-1"
TIMEOUT_SECONDS: Final = 30
LOOKS: Final = (
    {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["resource.k8s.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
)
REVIEWS: Final = (
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["subjectaccessreviews"],
        "verbs": ["create"],
    },
)
"""Kubernetes' own role `system:auth-delegator`: ask who somebody is and what they may do."""


@dataclass(frozen=True, slots=True)
class AgentNote:
    """What a node's page says of its agent."""

    state: str
    words: str
    version: str


@dataclass(slots=True)
class Sight:
    """The console through one person's eyes."""

    running: RunningConsole
    port: int
    _token: str
    _browser: urllib.request.OpenerDirector

    @property
    def agents_url(self) -> str:
        """What an agent has to be told."""
        return f"ws://127.0.0.1:{self.port}/ws/v1/agents?cluster={CLUSTER}"

    def api(self, path: str) -> dict[str, Any]:
        """Ask the REST API."""
        headers = {"Authorization": f"Bearer {self._token}"}
        with self._opened(f"/api/v1/{path}", headers=headers) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def page(self, path: str) -> str:
        """Open a page as logged in."""
        with self._opened(path) as answer:
            return unescape(answer.read().decode())

    def devices(self) -> dict[str, dict[str, Any]]:
        """Return every device by name."""
        return {each["device"]: each for each in self.api("devices/?limit=500")["items"]}

    def holders(self) -> dict[str, set[str]]:
        """Return the names of the claims that hold each held device."""
        return {
            name: {holder["name"] for holder in device["holders"]}
            for name, device in self.devices().items()
            if device["holders"]
        }

    def claims(self) -> dict[str, dict[str, Any]]:
        """Return every claim by name."""
        found = self.api("resourceclaims/?limit=500")["items"]
        return {each["metadata"]["name"]: each for each in found}

    def agent(self, node: str) -> AgentNote:
        """Read from the node's page how its agent is."""
        page = self.page(f"/nodes/{node}/")
        note = re.search(r'data-agent-of="[^"]*"\s+data-state="(\w+)">([^<]*)<', page)
        assert note is not None, page
        version = re.search(r"<dt>Version</dt>\s*<dd>\s*(\S+)\s*</dd>", page)
        return AgentNote(note[1], note[2].strip(), version[1] if version else "")

    def claim_page(self, claim: str) -> str:
        """Open a claim's page."""
        return self.page(f"/claims/default/{claim}/")

    def is_prepared(self, claim: str) -> bool:
        """Read from a claim's page whether its node has prepared it."""
        return '<th scope="col">Prepared</th>' in self.claim_page(claim)

    def phase(self, pod: str) -> str:
        """Read from a pod's page how far it is."""
        page = self.page(f"/pods/default/{pod}/")
        pill = re.search(r'<h2>Claims</h2>.*?<span class="pill"[^>]*>([^<]*)<', page, re.DOTALL)
        assert pill is not None, page
        return pill[1].strip()

    def log_in(self) -> None:
        """Fill in the form."""
        form = self.page("/login/")
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)
        assert token is not None
        fields = {"csrfmiddlewaretoken": token[1], "username": PERSON, "password": PASSWORD}
        with self._opened("/login/", headers={"Origin": self._url("")}, fields=fields) as answer:
            assert not answer.url.endswith("/login/"), "the log-in was refused"

    def answers(self) -> bool:
        """Tell whether the pages are served."""
        try:
            self.page("/healthz")
        except URLError:
            return False
        return True

    def _opened(
        self,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> HTTPResponse:
        request = urllib.request.Request(  # noqa: S310 - an address of our own
            self._url(path),
            data=urlencode(fields).encode() if fields else None,
            headers=dict(headers or {}),
        )
        answer = self._browser.open(request, timeout=TIMEOUT_SECONDS)
        assert isinstance(answer, HTTPResponse)
        return answer

    def _url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@contextmanager
def console_in_sight(cluster: Cluster, *, agents: str) -> Iterator[Sight]:
    """Run the console with its pages on a cluster, and log somebody in who may see all.

    `agents` is the name that the API server knows the nodes' agents by.
    """
    with running_console(cluster) as running:
        account = running.account
        subject = {"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}
        cluster.grant("reviews", subject, *REVIEWS)
        cluster.grant("watches", {"kind": "User", "name": PERSON}, *LOOKS)
        (port,) = free_ports(1)
        running.console.start_web(port=port, environment={"DRA_CONSOLE_AGENT_USERNAME": agents})
        password = running.console.directory / "password"
        password.write_text(PASSWORD)
        words = ("access_user", PERSON, "--token", "--password-file", str(password))
        made = running.console.manage(*words)
        assert made.returncode == 0, made.stderr
        browser = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()),
        )
        sight = Sight(running, port, json.loads(made.stdout)["token"], browser)
        eventually(sight.answers)
        sight.log_in()
        yield sight
