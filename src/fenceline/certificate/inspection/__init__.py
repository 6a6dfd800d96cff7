"""What the delivered model does on rows it has not seen: computed once after a fit, kept as plain JSON."""

from fenceline.certificate.inspection.inspector import allowance, inspect
from fenceline.certificate.inspection.record import Inspection

__all__ = ["Inspection", "allowance", "inspect"]
