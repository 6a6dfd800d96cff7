"""After the search: the best candidates fitted on all its rows, and tested on rows it never saw."""

from fenceline.certificate.certify import Certificate, Check, certify
from fenceline.certificate.refits import Finalist

__all__ = ["Certificate", "Check", "Finalist", "certify"]
