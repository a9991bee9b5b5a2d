"""Frames as an agent sends them: defaults for what does not matter."""

import json

from dra_console.allocator.model import Json, JsonObject

TAKEN_AT = "2026-11-29T20:00:00.000Z"


def a_hello(node: str = "gpu-01", **fields: Json) -> JsonObject:
    return {
        "type": "hello",
        "v": 1,
        "node": node,
        "agent_version": "0.1.0",
        "source": "simulated",
        "driver": "gpu.nvidia.com",
        "pool": node,
        "boot_id": "5f0c1c44-8f63-4f0e-9a1d-6d7d8a1c2b3e",
        **fields,
    }


def a_device_sample(device: str = "gpu-0", **readings: Json) -> JsonObject:
    """Build one device's part of a sample; readings that are not given are not reported."""
    return {"device": device, "uuid": "GPU-6b5f1c4e-0000-4000-8000-000000000000", **readings}


def a_sample(seq: int = 1, *devices: JsonObject, taken_at: str = TAKEN_AT) -> JsonObject:
    return {"type": "sample", "seq": seq, "taken_at": taken_at, "devices": list(devices)}


def a_node_claim(uid: str = "c-1", *device_names: str, **fields: Json) -> JsonObject:
    """Build one prepared claim; without device names it has `gpu-0`."""
    return {
        "uid": uid,
        "namespace": "team-research",
        "name": f"claim-{uid}",
        "state": "prepared",
        "prepared_at": TAKEN_AT,
        "devices": [
            {
                "pool": "gpu-01",
                "device": name,
                "uuid": "GPU-6b5f1c4e-0000-4000-8000-000000000000",
                "cdi_ids": [f"k8s.gpu.nvidia.com/claim={uid}-{name}"],
                "requests": ["gpu"],
            }
            for name in device_names or ("gpu-0",)
        ],
        **fields,
    }


def claims_frame(seq: int = 2, *claims: JsonObject) -> JsonObject:
    return {"type": "claims", "seq": seq, "claims": list(claims)}


def as_text(frame: Json) -> str:
    return json.dumps(frame)
