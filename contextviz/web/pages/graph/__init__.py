"""The page of the summary graph: reading, drawing, one node, and what a node stands for."""

from __future__ import annotations
