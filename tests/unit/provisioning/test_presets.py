from dra_console.allocator.quantity import Quantity
from dra_console.provisioning.choices import ClassChoice, ModelChoice
from dra_console.provisioning.presets import presets
from dra_console.provisioning.wishes import ProductWish


def a_partition(profile: str) -> ModelChoice:
    return ModelChoice(
        ProductWish("gpu.nvidia.com", "A100", profile), Quantity.parse("5Gi"), free=7, total=7
    )


def test_notebook_leaves_the_media_engine_to_who_asks_for_it() -> None:
    mig = ClassChoice(
        name="mig.nvidia.com",
        free=14,
        total=14,
        models=(a_partition("1g.5gb+me"), a_partition("1g.5gb")),
        memory_domain="gpu.nvidia.com",
        keep_together=(),
    )

    notebook = next(preset for preset in presets((mig,)) if preset.slug == "notebook")

    assert notebook.values.product == ProductWish("gpu.nvidia.com", "A100", "1g.5gb")
