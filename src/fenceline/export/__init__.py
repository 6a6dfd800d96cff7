"""A delivered model for others: plain files, a model card, a folder for a hub, technical documentation."""

from fenceline.export.card import make_card
from fenceline.export.dossier import write_dossier
from fenceline.export.files import write_huggingface, write_sklearn
from fenceline.export.mlflow_model import log_model

__all__ = ["log_model", "make_card", "write_dossier", "write_huggingface", "write_sklearn"]
