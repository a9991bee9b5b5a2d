import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.rig.certificates import Authority, KeyPair
from tests.integration.kube.identities import POD, Clock, Plugin
from tests.integration.kube.scripted import ScriptedServer, scripted_server
from tests.programs import need


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ScriptedServer]:
    with scripted_server(tmp_path) as server:
        yield server


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    need("openssl")
    return Authority(tmp_path_factory.mktemp("tls") / "authority")


@pytest.fixture(scope="module")
def people(authority: Authority) -> tuple[KeyPair, KeyPair]:
    return authority.for_user("first"), authority.for_user("second")


@pytest.fixture(scope="module")
def tls(authority: Authority) -> ssl.SSLContext:
    pair = authority.for_server("server")
    context = ssl.create_default_context(
        ssl.Purpose.CLIENT_AUTH, cafile=str(authority.pair.certificate)
    )
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(str(pair.certificate), str(pair.key))
    return context


@pytest.fixture
def secure(tmp_path: Path, tls: ssl.SSLContext) -> Iterator[ScriptedServer]:
    server = ScriptedServer(tmp_path, tls=tls)
    server.will_answer(POD)
    yield server
    server.close()


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock()
