"""What is written is what is read, and the API server takes it."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_console.allocator.decoding.decode import (
    decode_claim,
    decode_node_selector,
    decode_snapshot,
)
from dra_console.allocator.model import (
    AllocatedConfig,
    AllocationResult,
    ConfigSource,
    DeviceResult,
    JsonObject,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    OpaqueConfig,
    Toleration,
)
from dra_console.allocator.search.search import Allocated, allocate
from dra_console.allocator.validation.validate import (
    validate_claim,
    validate_claim_status,
    validate_class,
    validate_slice,
)
from tests.builders.objects import a_claim
from tests.builders.strategies import claims, quantities, worlds

NAMES = st.text(st.sampled_from("abc-/."), min_size=1, max_size=6)
SOME_NAMES = st.lists(NAMES, max_size=3).map(tuple)
REQUIREMENTS = st.lists(
    st.builds(NodeSelectorRequirement, key=NAMES, operator=NAMES, values=SOME_NAMES), max_size=2
).map(tuple)
NODE_SELECTORS = st.builds(
    NodeSelector,
    terms=st.lists(
        st.builds(NodeSelectorTerm, match_expressions=REQUIREMENTS, match_fields=REQUIREMENTS),
        max_size=2,
    ).map(tuple),
)
TOLERATIONS = st.builds(
    Toleration,
    key=st.just("") | NAMES,
    operator=st.sampled_from(("Equal", "Exists")),
    value=st.just("") | NAMES,
    effect=st.just("") | NAMES,
    toleration_seconds=st.none() | st.integers(-1, 2**63 - 1),
)
RESULTS = st.builds(
    DeviceResult,
    request=NAMES,
    driver=NAMES,
    pool=NAMES,
    device=NAMES,
    admin_access=st.booleans(),
    tolerations=st.lists(TOLERATIONS, max_size=2).map(tuple),
    binding_conditions=SOME_NAMES,
    binding_failure_conditions=SOME_NAMES,
    share_id=st.none() | NAMES,
    consumed_capacity=st.none() | st.dictionaries(NAMES, quantities(), min_size=1, max_size=2),
    skip_node_operations=SOME_NAMES,
)
CONFIG = st.builds(
    AllocatedConfig,
    source=st.sampled_from(ConfigSource),
    requests=SOME_NAMES,
    opaque=st.builds(
        OpaqueConfig,
        driver=NAMES,
        parameters=st.dictionaries(NAMES, st.integers() | st.none() | st.text(max_size=3)),
    ),
)
ALLOCATIONS = st.builds(
    AllocationResult,
    results=st.lists(RESULTS, max_size=3).map(tuple),
    config=st.lists(CONFIG, max_size=2).map(tuple),
    node_selector=st.none() | NODE_SELECTORS,
)


@given(allocation=ALLOCATIONS)
def test_an_allocation_is_read_as_it_was_written(allocation: AllocationResult) -> None:
    claim = a_claim() | {"status": {"allocation": allocation.to_json()}}

    assert decode_claim(claim).allocation == allocation


@given(selector=NODE_SELECTORS)
def test_a_node_selector_is_read_as_it_was_written(selector: NodeSelector) -> None:
    assert decode_node_selector(selector.to_json()) == selector


VALIDATORS = {
    "ResourceClaim": validate_claim,
    "ResourceSlice": validate_slice,
    "DeviceClass": validate_class,
}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(world=worlds(), claim=claims(), node=st.sampled_from(("gpu-01", "gpu-02")))
def test_the_server_takes_what_is_allocated(
    world: list[JsonObject], claim: JsonObject, node: str
) -> None:
    for each in (*world, claim):
        validate = VALIDATORS.get(str(each["kind"]))
        assert validate is None or validate(each) == ()

    outcome = allocate(decode_snapshot(world), [decode_claim(claim)], node=Node(node))

    if isinstance(outcome, Allocated):
        status: JsonObject = {"allocation": outcome.results[0].to_json()}
        assert validate_claim_status(claim | {"status": status}, stored=claim) == ()
