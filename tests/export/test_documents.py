"""What leaves with a model: cards, folders, documentation. One small model for all."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import skops.io

from fenceline import FencelineClassifier
from fenceline.errors import StoreError
from fenceline.export import log_model, make_card, write_dossier, write_huggingface, write_sklearn
from fenceline.pipelines import named_space, only

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "income": RNG.normal(size=400),
        "debt | <b>": RNG.normal(size=400),
        "sex": RNG.choice(["f", "m"], 400),
    }
)
Y = np.where(X["income"] + 0.3 * RNG.normal(size=400) > 0, "good", "bad")


@pytest.fixture(scope="module")
def model():
    space = only(named_space("default"), "estimator", "DecisionTree", "LogisticRegression")
    fence = ["size_mb <= 5", "demographic_parity_difference(sex) <= 0.9"]
    return FencelineClassifier(
        "balanced_accuracy", fence, space=space, evaluations=3, random_state=0
    ).fit(X, Y)


def test_a_card_says_what_the_certificate_says(model):
    card = make_card(model, title="Loans", purpose="Ranks applications.", licence="apache-2.0")
    assert card.startswith('---\nlibrary_name: "sklearn"\n')
    assert 'license: "apache-2.0"' in card
    assert str(model.certificate_) in card
    assert f"{model.certificate_.checks[0].value:.4g}" in card
    assert "Ranks applications." in card


def test_names_from_data_cannot_break_a_table_or_a_page(model, tmp_path):
    assert r"| debt \| \<b\> |" in make_card(model)
    _, page, _ = write_dossier(model, tmp_path)
    text = page.read_text("utf-8")
    assert "debt | &lt;b&gt;" in text
    assert "<b>" not in text.replace("<b>To be written:</b>", "")


def test_a_folder_for_a_hub_holds_a_model_that_predicts_the_same(model, tmp_path):
    assert write_huggingface(model, tmp_path / "hub", X) == [
        "README.md",
        "model.skops",
        "config.json",
    ]
    file = tmp_path / "hub" / "model.skops"
    again = skops.io.load(file, trusted=skops.io.get_untrusted_types(file=file))
    assert np.array_equal(again.predict(X), model.predict(X))
    config = json.loads((tmp_path / "hub" / "config.json").read_text())["sklearn"]
    assert config["columns"] == list(X)
    assert config["task"] == "tabular-classification"
    assert "-0." not in json.dumps(config)  # no row of the data


def test_a_place_that_cannot_be_written_is_named(model, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        write_huggingface(model, tmp_path / "file", X)
    with pytest.raises(StoreError, match="choose a path"):
        write_sklearn(model, tmp_path / "no" / "plain.skops", X)


def test_a_dossier_has_every_heading_and_lists_what_is_left_to_write(model, tmp_path):
    markdown, page, fields = write_dossier(
        model,
        tmp_path,
        purpose="Ranks applications for a clerk.",
        data={"table": "loans.csv", "SHA-256 of its file": "ab12"},
        trained={"python": "3.99"},
    )
    text = markdown.read_text("utf-8")
    for heading in range(1, 10):
        assert f"\n## {heading}. " in text
    assert "Ranks applications for a clerk." in text
    assert "| SHA-256 of its file | ab12 |" in text
    assert "3.99" in text
    assert str(model.certificate_) in text
    assert text.count("**To be written:**") == len(fields)
    assert not any("What is the system for" in field for field in fields)
    html = page.read_text("utf-8")
    assert html.count('class="write"') == len(fields)
    assert "<script" not in html
    without = write_dossier(model, tmp_path / "other")[2]
    assert len(without) == len(fields) + 1


def test_groups_are_in_the_dossier_with_counts_where_they_were_inspected(model, tmp_path):
    rate = {"events": 3, "cases": 12, "value": 0.25, "low": 0.0549, "high": 0.572}
    groups = [{"label": "f", "rows": 12, "rates": {"predicted positive": rate}}]
    model.inspection_ = {"basis": "unseen", "groups": [{"column": "sex", "groups": groups}]}
    try:
        text = write_dossier(model, tmp_path)[0].read_text("utf-8")
    finally:
        del model.inspection_
    assert "| sex | f | 12 | predicted positive | 0.25 | 3 of 12 | 0.0549 to 0.572 |" in text


def test_a_model_in_mlflow_has_a_signature_and_predicts_without_this_package(
    model, tmp_path, monkeypatch
):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    address = log_model(model, X)
    info = mlflow.models.get_model_info(address)
    assert [column.name for column in info.signature.inputs] == list(X)
    loaded = mlflow.sklearn.load_model(address)
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_writing_documents_needs_no_extra():
    code = (
        "import sys, fenceline.export; print(*({'onnx', 'mlflow', 'skl2onnx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
