"""Curricula: ordered stages of tasks to train on, as JSON files of ids. Loads no torch and no task file."""

from evaluator.tasks.curricula.load import Curriculum, CurriculumError, Stage, load, shipped_names

__all__ = ["Curriculum", "CurriculumError", "Stage", "load", "shipped_names"]
