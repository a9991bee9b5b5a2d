"""Calls to NVML: which may fail alone, which may not, and what each failure means here.

Every call can fail by itself (node-agent.md 6.2). What a GPU does not offer is asked once and not
again until something changed; what concerns the whole library is an error of `devices.errors`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

import pynvml

from nodeagent.devices.errors import (
    BusyError,
    DevicesError,
    DriverChangedError,
    DriverTimeoutError,
    NoDriverError,
    PlacementTakenError,
    UnsupportedError,
)

Answer = TypeVar("Answer")
Note: TypeAlias = Callable[..., None]
"""Logs: `note("warning", "what happened", field=value)`."""

UNSUPPORTED: Final = frozenset(
    {
        pynvml.NVML_ERROR_INVALID_ARGUMENT,
        pynvml.NVML_ERROR_NOT_SUPPORTED,
        pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
        pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
        pynvml.NVML_ERROR_NO_PERMISSION,
    }
)
NOTHING: Final = frozenset({pynvml.NVML_ERROR_NOT_FOUND, pynvml.NVML_ERROR_NO_DATA})
"""Codes of an answer that is empty now."""

WITHOUT_DRIVER: Final = frozenset(
    {
        pynvml.NVML_ERROR_UNINITIALIZED,
        pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
        pynvml.NVML_ERROR_LIBRARY_NOT_FOUND,
    }
)
"""Codes that concern the whole library, not one field of one GPU."""


class GpuLostError(DevicesError):
    """The driver says that this GPU has fallen off the bus."""


@dataclass(slots=True)
class Calls:
    """Remembers what each GPU does not offer, and facts that it told."""

    note: Note
    _unsupported: set[tuple[str, str]] = field(default_factory=set)
    _forbidden: set[str] = field(default_factory=set)
    _facts: dict[tuple[str, str], Any] = field(default_factory=dict)

    # pynvml has no types: what a field's call returns is known where the field is made.
    def optional(self, gpu: str, name: str, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - pynvml is untyped
        """Ask for one field; `None` if it is not offered or not told now.

        Raises:
            DevicesError: as `offered`.

        """
        try:
            return self.offered(gpu, name, call)
        except pynvml.NVMLError:
            return None

    def lasting(self, gpu: str, name: str, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - pynvml is untyped
        """Ask for a fact that describes a GPU: while it is not told, it is what it was.

        Raises:
            DevicesError: as `offered`.

        """
        try:
            self._facts[gpu, name] = self.offered(gpu, name, call)
        except pynvml.NVMLError:
            return self._facts.get((gpu, name))
        return self._facts[gpu, name]

    def offered(self, gpu: str, name: str, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - pynvml is untyped
        """Ask for one field; `None` only if this GPU, driver or right does not offer it.

        Raises:
            pynvml.NVMLError: asking failed, which says nothing of what is offered.
            GpuLostError: the GPU is gone.
            NoDriverError: NVML is.
            DriverChangedError: the library no longer fits the kernel's driver.

        """
        if (gpu, name) in self._unsupported:
            return None
        try:
            return call()
        except pynvml.NVMLLibraryMismatchError:
            # pynvml's word for a library too old to have the call in this shape.
            self._unsupported.add((gpu, name))
            return None
        except pynvml.NVMLError as error:
            refuse_without_driver(error)
            if error.value == pynvml.NVML_ERROR_GPU_IS_LOST:
                raise GpuLostError(f"{gpu} is lost") from error
            if error.value in NOTHING:
                return None
            if error.value not in UNSUPPORTED:
                raise
            self._unsupported.add((gpu, name))
            if error.value == pynvml.NVML_ERROR_NO_PERMISSION and name not in self._forbidden:
                self._forbidden.add(name)
                self.note("warning", "driver forbids a question: is this root?", asked=name)
            return None

    def forget(self) -> None:
        """Ask for everything again: modes have changed."""
        self._unsupported.clear()


def field_value(handle: object, field_id: int) -> int:
    """Ask for one of NVML's numbered fields.

    Raises:
        pynvml.NVMLError: the GPU does not tell it.

    """
    (told,) = pynvml.nvmlDeviceGetFieldValues(handle, [field_id])
    if told.nvmlReturn != pynvml.NVML_SUCCESS:
        raise pynvml.NVMLError(told.nvmlReturn)
    value: int = told.value.uiVal
    return value


def required(call: Callable[[], Answer]) -> Answer:
    """Ask for something without which there is nothing to tell.

    Raises:
        NoDriverError: NVML refused.
        DriverChangedError: the library and the kernel's driver no longer fit together.

    """
    try:
        return call()
    except pynvml.NVMLError as error:
        refuse_without_driver(error)
        raise NoDriverError(f"NVML: {error}") from error


def refuse_without_driver(error: "pynvml.NVMLError") -> None:
    """Raise what concerns the whole library."""
    if error.value == pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        raise DriverChangedError(f"NVML: {error}") from error
    if error.value in WITHOUT_DRIVER:
        raise NoDriverError(f"NVML: {error}") from error


def changing(what: str, call: Callable[[], Answer]) -> Answer:
    """Change something; a refusal says what was to be done.

    Raises:
        DevicesError: of the kind that fits NVML's code.

    """
    try:
        return call()
    except pynvml.NVMLError as error:
        refuse_without_driver(error)
        raise _kind_of(error.value)(f"{what}: {error}") from error


def _kind_of(code: int) -> type[DevicesError]:
    if code == pynvml.NVML_ERROR_IN_USE:
        return BusyError
    if code == pynvml.NVML_ERROR_INSUFFICIENT_RESOURCES:
        return PlacementTakenError
    if code == pynvml.NVML_ERROR_TIMEOUT:
        return DriverTimeoutError
    if code == pynvml.NVML_ERROR_GPU_IS_LOST:
        return NoDriverError
    if code in UNSUPPORTED or code == pynvml.NVML_ERROR_RESET_REQUIRED:
        return UnsupportedError
    return DevicesError
