"""The log of a partition as a tree of leader epochs, with the commits of groups, as inline SVG."""

from analysis.report.log_tree.drawing import LogTree, log_trees

__all__ = ["LogTree", "log_trees"]
