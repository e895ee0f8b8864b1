"""The search for bad cases: legal runs in which responses and chains take as long as can be found."""

from rt_sched.search.campaign import Campaign, Found, search
from rt_sched.search.goals import Goal, goals_of

__all__ = ["Campaign", "Found", "Goal", "goals_of", "search"]
