"""One object at one version, as the store, the log of writes and the answers share it."""

from dataclasses import dataclass
from typing import Self

import orjson

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.metadata import metadata_of, text


@dataclass(frozen=True, slots=True)
class Stored:
    """One object at one version. `value` is shared: read it, never change it."""

    namespace: str
    """Empty for cluster-scoped kinds."""

    name: str
    resource_version: int
    value: JsonObject
    raw: bytes
    """`value` as JSON, ready to be sent; it begins with `apiVersion` and `kind`."""

    type_length: int
    """How many bytes of `raw` those two take, with the brace before and the comma behind."""

    @classmethod
    def read(cls, raw: bytes) -> Self:
        """Take what `raw_of` wrote."""
        value: JsonObject = orjson.loads(raw)
        namespace, name = key_of(value)
        return cls(
            namespace=namespace,
            name=name,
            resource_version=int(text(metadata_of(value), "resourceVersion")),
            value=value,
            raw=raw,
            type_length=len(orjson.dumps(_type_of(value))),
        )

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def without_type(self) -> bytes:
        """The JSON without `apiVersion` and `kind`, as a list carries it."""
        return b"{" + self.raw[self.type_length :]

    def copy(self) -> JsonObject:
        """Return the object for the caller to change."""
        copied: JsonObject = orjson.loads(self.raw)
        return copied


def key_of(value: JsonObject) -> tuple[str, str]:
    """Return an object's namespace, empty for cluster-scoped kinds, and name."""
    metadata = metadata_of(value)
    return text(metadata, "namespace"), text(metadata, "name")


def raw_of(value: JsonObject) -> bytes:
    """Write an object, `apiVersion` and `kind` first."""
    return orjson.dumps({**_type_of(value), **value})


def _type_of(value: JsonObject) -> JsonObject:
    return {"apiVersion": value["apiVersion"], "kind": value["kind"]}
