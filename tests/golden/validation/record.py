"""Ask a real API server again, and write down what it says.

    python tests/golden/validation/record.py https://127.0.0.1:6443 TOKEN default.json

The server has the feature gates of the file's `features`. It is trusted whatever its certificate
says, so let it be one on this machine. Namespaces `lab` and `admin` are made if they are missing.
"""

import json
import re
import ssl
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

FOLDER = Path(__file__).parent
DRY_RUN = "?dryRun=All&fieldValidation=Strict"
PLURALS = {
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "DeviceClass": "deviceclasses",
    "ResourceSlice": "resourceslices",
    "DeviceTaintRule": "devicetaintrules",
}
NAMESPACES = {"lab": {}, "admin": {"resource.kubernetes.io/admin-access": "true"}}
UNKNOWN = re.compile(r'unknown field "([^"]+)"')

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Server:
    connection: HTTPSConnection
    token: str

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Json]:
        """Send JSON without blanks, since the server counts the bytes of parameters."""
        text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        sent = None if body is None else text.encode()
        self.connection.request(method, path, sent, headers)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def make(self, obj: Json) -> Json:
        """Store an object with its status, or fail."""
        where, name = folder_of(obj), metadata_of(obj)["name"]
        status, made = self.call("POST", where, {**obj, "status": None})
        assert status == 201, made
        if obj.get("status"):
            changed = {**made, "status": obj["status"]}
            status, made = self.call("PUT", f"{where}/{name}/status", changed)
            assert status == 200, made
        if "deletionTimestamp" in metadata_of(obj):
            self.call("DELETE", f"{where}/{name}")
            _, made = self.call("GET", f"{where}/{name}")
        return made

    def remove(self, obj: Json) -> None:
        where, name = folder_of(obj), metadata_of(obj)["name"]
        status, left = self.call("GET", f"{where}/{name}")
        if status == 200 and metadata_of(left).get("finalizers"):
            metadata_of(left)["finalizers"] = []
            self.call("PUT", f"{where}/{name}", left)
        self.call("DELETE", f"{where}/{name}")


def metadata_of(obj: Json) -> Json:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    return metadata


def folder_of(obj: Json) -> str:
    kind = str(obj["kind"])
    is_namespaced = kind.startswith("ResourceClaim")
    namespace = f"/namespaces/{metadata_of(obj)['namespace']}" if is_namespaced else ""
    return f"/apis/{obj['apiVersion']}{namespace}/{PLURALS[kind]}"


def asked(server: Server, case: Json) -> tuple[int, Json]:
    obj, stored = case["object"], case.get("stored")
    assert isinstance(obj, dict)
    if not isinstance(stored, dict):
        return server.call("POST", folder_of(obj) + DRY_RUN, obj)
    made = server.make(stored)
    version = {"resourceVersion": metadata_of(made)["resourceVersion"]}
    new = {**obj, "metadata": {**metadata_of(obj), **version}}
    part = "/status" if case["operation"] == "status" else ""
    path = f"{folder_of(obj)}/{metadata_of(stored)['name']}{part}{DRY_RUN}"
    answer = server.call("PUT", path, new)
    server.remove(stored)
    return answer


def verdict(status: int, body: Json) -> Json:
    if status in {200, 201}:
        return {"accepted": True}
    message = str(body.get("message"))
    if status == 422:
        return {"causes": sorted(causes(body))}
    assert status == 400, message
    if "strict decoding error" in message:
        return {"unknown": sorted(UNKNOWN.findall(message))}
    return {"undecodable": message.split(": ", 1)[-1][:160]}


def causes(body: Json) -> Iterator[list[str]]:
    details = body["details"]
    assert isinstance(details, dict)
    found = {(each.get("field", ""), each.get("reason", "")) for each in details.get("causes", [])}
    return (list(each) for each in found)


def main(address: str, token: str, name: str) -> None:
    context = ssl._create_unverified_context()  # noqa: S323  a server of one's own
    server = Server(HTTPSConnection(urlsplit(address).netloc, context=context), token)
    for namespace, labels in NAMESPACES.items():
        metadata = {"name": namespace, "labels": labels}
        server.call("POST", "/api/v1/namespaces", {"metadata": metadata})
    recorded = json.loads((FOLDER / name).read_text())
    for case in recorded["cases"]:
        case["verdict"] = verdict(*asked(server, case))
    lines = (
        json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in recorded["cases"]
    )
    features = json.dumps(recorded["features"])
    head = f'{{\n"server": {json.dumps(recorded["server"])},\n"features": {features},\n"cases": [\n'
    (FOLDER / name).write_text(head + ",\n".join(lines) + "\n]\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
