"""Distances → context terms: one factor per picture that makes all neighbourhoods equally wide (CDM-07, CDM-10)."""

from .distance import contextual, distances
from .neighbours import Neighbours, nearest
from .reference import Reference
from .terms import METHODS, Terms

__all__ = ["METHODS", "Neighbours", "Reference", "Terms", "contextual", "distances", "nearest"]
