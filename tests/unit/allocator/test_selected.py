from dra_console.allocator.cel.selectors import EvaluationFault, Program, default_engine
from dra_console.allocator.decoding.decode import decode_snapshot
from dra_console.allocator.facts import facts_of
from dra_console.allocator.model import JsonObject, Snapshot
from dra_console.allocator.world.index import index_of
from dra_console.allocator.world.selected import selected
from tests.builders.objects import a_device, a_node, a_slice


def compiled(expression: str) -> Program:
    program = default_engine().compile(expression)
    assert isinstance(program, Program)
    return program


def a_rack(*, nodes: int, gpus: int = 4) -> Snapshot:
    """Nodes of H100, but for an A100 in the last place of every third one."""
    objects: list[JsonObject] = []
    for number in range(nodes):
        name = f"gpu-{number:02}"
        objects.append(a_node(name))
        models = ["H100"] * (gpus - 1) + ["A100" if number % 3 == 0 else "H100"]
        devices = [
            a_device(f"gpu-{at}", attributes={"model": model, "uuid": f"{name}-{at}"})
            for at, model in enumerate(models)
        ]
        objects.append(a_slice(node=name, devices=devices))
    return decode_snapshot(objects)


def test_every_device_gets_the_answer_that_it_would_get_alone() -> None:
    snapshot = a_rack(nodes=7)
    program = compiled("device.attributes['gpu.nvidia.com'].model == 'A100'")

    found = list(selected(program, index=index_of(snapshot)))

    assert [each.slice for each in found] == [*snapshot.slices]
    assert [each.answers for each in found] == [
        tuple(
            compiled(program.expression).evaluate(facts_of(device, driver=each.driver))
            for device in each.devices
        )
        for each in snapshot.slices
    ]
    assert sum(answer is True for each in found for answer in each.answers) == 3


def test_devices_that_agree_on_what_is_read_are_asked_about_once() -> None:
    program = compiled("device.attributes['gpu.nvidia.com'].model.startsWith('A')")
    before = program.evaluations

    list(selected(program, index=index_of(a_rack(nodes=50))))

    assert program.evaluations - before == 2


def test_devices_are_told_apart_by_what_is_unique_if_the_expression_reads_it() -> None:
    program = compiled("device.attributes['gpu.nvidia.com'].uuid == 'gpu-02-1'")

    found = list(selected(program, index=index_of(a_rack(nodes=4))))

    assert [each.answers.count(True) for each in found] == [0, 0, 1, 0]


def test_answers_are_in_the_order_of_each_slices_own_devices() -> None:
    models = (("A100", "H100"), ("H100", "A100"))
    snapshot = decode_snapshot(
        [
            a_slice(
                node=f"gpu-{number}",
                devices=[a_device(f"gpu-{model}", attributes={"model": model}) for model in row],
            )
            for number, row in enumerate(models)
        ]
    )
    program = compiled("device.attributes['gpu.nvidia.com'].model == 'A100'")

    found = list(selected(program, index=index_of(snapshot)))

    assert [each.answers for each in found] == [(True, False), (False, True)]


def test_an_expression_that_fails_on_a_device_says_so_there() -> None:
    program = compiled("device.attributes['gpu.nvidia.com'].missing == 'x'")

    (first, *_) = selected(program, index=index_of(a_rack(nodes=1)))

    assert isinstance(first.answers[0], EvaluationFault)
    assert "no such key: missing" in first.answers[0].message
