"""A run over time: lanes on one axis, as a piece of HTML that plotly draws."""

from analysis.report.timeline.fragment import timeline

__all__ = ["timeline"]
