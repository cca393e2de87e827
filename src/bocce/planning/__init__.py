"""What a run will do, and why: four small records, and a page of words."""

from .forecast import PlannedStage
from .plan import Plan, plan
from .plan import usual_tol as usual_tol
from .records import Point

__all__ = ["Plan", "PlannedStage", "Point", "plan"]
