from dataclasses import replace

from dra_console.kube.kinds import RESOURCE_SLICES
from dra_console.mirror.models import Cluster, ResourceSlice
from dra_console.provisioning.checks import check_template
from dra_console.provisioning.choices import class_choices
from dra_console.provisioning.manifest import TemplateForm, write_form
from dra_console.provisioning.presets import Preset, presets
from dra_console.provisioning.wishes import ProductWish
from dra_console.sync.reconcile import apply
from tests.builders.mirrored import SEEN_AT
from tests.builders.objects import a_device
from tests.integration.provisioning.conftest import PCIE_ROOT


def by_slug(cluster: Cluster) -> dict[str, Preset]:
    return {preset.slug: preset for preset in presets(class_choices(cluster))}


def test_class_offers_its_models_with_what_is_free_of_each(cluster: Cluster) -> None:
    gpu = next(choice for choice in class_choices(cluster) if choice.name == "gpu.nvidia.com")

    assert (gpu.free, gpu.total) == (5, 6)
    assert gpu.keep_together == (PCIE_ROOT,)
    assert [
        (model.product.product_name, str(model.memory), model.free, model.total)
        for model in gpu.models
    ] == [("H100", "80Gi", 3, 4), ("L4", "24Gi", 2, 2)]


def test_partitions_are_offered_by_size(cluster: Cluster) -> None:
    mig = next(choice for choice in class_choices(cluster) if choice.name == "mig.nvidia.com")

    assert [(model.product.profile, model.total) for model in mig.models] == [
        ("3g.20gb", 1),
        ("1g.5gb", 2),
    ]


def test_train_asks_for_two_of_the_largest_close_together(cluster: Cluster) -> None:
    train = by_slug(cluster)["train"]

    assert train.values == TemplateForm(
        device_class_name="gpu.nvidia.com",
        product=ProductWish("gpu.nvidia.com", "H100"),
        count=2,
        keep_together=PCIE_ROOT,
    )
    assert (train.free, train.total) == (3, 4)


def test_notebook_asks_for_the_smallest_piece(cluster: Cluster) -> None:
    notebook = by_slug(cluster)["notebook"]

    assert notebook.values == TemplateForm(
        device_class_name="mig.nvidia.com",
        product=ProductWish("gpu.nvidia.com", "A100", "1g.5gb"),
    )


def test_serve_uses_the_class_that_is_made_for_the_model(cluster: Cluster) -> None:
    serve = by_slug(cluster)["serve"]

    assert serve.values == TemplateForm(device_class_name="l4.nvidia.com")


def test_every_preset_makes_a_template_without_findings(cluster: Cluster) -> None:
    for preset in presets(class_choices(cluster)):
        form = replace(preset.values, namespace="team-research", name=preset.slug)

        assert check_template(cluster, write_form(form)) == ()


def test_cluster_without_devices_has_no_presets(db: None) -> None:
    del db
    assert presets(class_choices(Cluster.objects.create(name="empty"))) == ()


def test_slice_that_changes_is_read_again(cluster: Cluster) -> None:
    class_choices(cluster)
    changed = ResourceSlice.objects.get(node_name="l4-01").raw
    changed["metadata"]["resourceVersion"] = "2"
    changed["spec"]["devices"] = [a_device("gpu-0")]
    apply(cluster, kind=RESOURCE_SLICES, objects=[changed], seen_at=SEEN_AT)

    l4 = next(choice for choice in class_choices(cluster) if choice.name == "l4.nvidia.com")

    assert l4.total == 0
