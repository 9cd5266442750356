"""Audits of task sets, by the text of each task: what was found, what remedies it, and whether it may train."""

from evaluator.tasks.audits.record import Audit, AuditError
from evaluator.tasks.audits.store import AUDIT_FILE, AuditStore

__all__ = ["AUDIT_FILE", "Audit", "AuditError", "AuditStore"]
