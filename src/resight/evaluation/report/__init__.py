"""Evaluations as one HTML page that needs nothing else: tables, plots, and the queries that went worst."""

from .page import write_report

__all__ = ["write_report"]
