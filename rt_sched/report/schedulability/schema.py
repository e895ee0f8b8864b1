"""The JSON Schema of the report's document, from one line per kind of row.

A line lists keys with what stands there: `text`, `ns` (a time in integer nanoseconds), `int`, `num`, `yes` (a truth
value), `verdict`, another row, a list of one of these in brackets, or a map from names to one of these in braces. A
question mark allows null. A row that ends in `...` may hold more keys: those of the analysis document.
"""

from __future__ import annotations

from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLE = "rt-sched/schedulability-report/1"

_PLAIN: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "ns": {"type": "integer", "description": "A time in ns."},
    "int": {"type": "integer"},
    "num": {"type": "number"},
    "yes": {"type": "boolean"},
    "verdict": {"enum": ["schedulable", "unschedulable", "inconclusive"]},
    "any": {},
}

_INJECTED = (
    "kind:text runs:int detected:int late:int tolerated:int silent:int unknown:int worst_case_max_ns:ns? "
    "detected_ns:spread? reacted_ns:spread? recovered_ns:spread? detected_histogram:histogram?"
)
_ROWS = {
    "report": "schema:text system:text file:text policy:text verdict:verdict summary:summary modes:[mode] model:model "
    "assumptions:[assumption] processors:[processor] tasks:[task] critical_runs:[critical_run] chains:[chain] "
    "disparities:[disparity] resources:resources faults:faults evidence:evidence margins:margins? "
    "safety_path:safety_path? requirements:requirements reproduction:reproduction not_shown:[text] iso_26262:iso_26262",
    "mode": "name:text verdict:verdict",
    "summary": "title:text explanation:text modes:[mode] assumptions:assumption_counts faults:fault_counts "
    "tightest_chain:tightest_chain? tightest_chain_parts:[term] tightest_chain_blocked_by:delay_in_chain? "
    "tightest_task:tightest_task? "
    "worst_fault:worst_fault? busiest:busiest? findings:[finding] findings_in_all:int changes:[text] "
    "quality:[evidence_kind]",
    "assumption_counts": "count:int proved:int measured:int monitored:int declared_only:int",
    "fault_counts": "declared:int schedulable:int unschedulable:int inconclusive:int undeclared:int unclaimed:[text] "
    "not_known:[text]",
    "tightest_chain": "chain:text mode:text quantity:text bound_ns:ns limit_ns:ns margin_ns:ns share_ppm:int",
    "tightest_task": "name:text mode:text processor:text response_bound_ns:ns? deadline_ns:ns slack_ns:ns? "
    "share_ppm:int? verdict:verdict",
    "busiest": "name:text mode:text load_ppm:int",
    "finding": "kind:text name:text mode:text verdict:verdict why:text",
    "evidence_kind": "kind:text count:int text:text",
    "model": "name:text policy:text devices:[any] sensors:[any] tasks:[any] chains:[any] processors:[any] edges:[any] "
    "graph:graph ...",
    "graph": "name:text layers:int rows:int devices:[text] nodes:[graph_node] edges:[graph_edge] chains:[graph_chain]",
    "graph_node": "kind:text name:text device:text label:text detail:text more:text layer:int row:int",
    "graph_edge": "source:text target:text latest:yes more:text bends:[[int]] back:yes",
    "graph_chain": "name:text path:[text] edges:[int] more:text",
    "assumption": "number:text key:text text:text used_in:[text] tasks:[text] task_count:int status:text how:text "
    "values_checked:int? values_broken:int? origins:[origin]",
    "origin": "origin:text tasks:[text]",
    "processor": "name:text mode:text pe:text policy:text load:num load_exact:text? load_ppm:int refusals:[refusal] "
    "tests:[load_test] ...",
    "refusal": "method:text reason:text instead:text? elsewhere:yes",
    "load_test": "name:text verdict:verdict reason:text",
    "task": "name:text mode:text pe:text processor:text policy:text? preemptive:yes? criticality:text "
    "response_bound_ns:ns? deadline_ns:ns slack_ns:ns? share_ppm:int? observed_ns:ns? observed_ppm:int? "
    "verdict:verdict reason:text lost_work:text? method:text? source:text? exact:yes? worst_job:int? window_ns:ns? "
    "terms:[term] refusals:[refusal] witness:witness? assumptions:[text] assumption_numbers:[text] wcet_origin:text "
    "bcet_ns:ns wcet_ns:ns budget_ns:ns? own:own? others:[other] derivation:derivation? ...",
    "term": "kind:text value_ns:ns by:text? jobs:int? each_ns:ns?",
    "witness": "how:text job:int arrival_ns:ns deadline_ns:ns finish_ns:ns? horizon_ns:ns ...",
    "own": "wcet_ns:ns overhead_ns:ns spin_ns:ns cost_ns:ns suspension_ns:ns level:int last_region_ns:ns "
    "release_jitter_ns:ns arrivals:[arrivals] blocking_ns:ns? blocked_by:[blocked_by] ...",
    "other": "name:text level:int urgency:text cost_ns:ns deadline_ns:ns region_ns:ns release_jitter_ns:ns "
    "arrivals:[arrivals] ...",
    "arrivals": "separation_ns:ns? jitter_ns:ns curve:any ...",
    "blocked_by": "by:text value_ns:ns",
    "derivation": "busy_period_ns:[ns?] busy_period_iterations:int last_region_ns:ns all_jobs:yes jobs:[job_step] "
    "worst:int jobs_followed:int ...",
    "job_step": "job:int arrival_ns:ns blocking_ns:ns windows_ns:[ns?] iterations:int finish_ns:ns response_ns:ns ...",
    "critical_run": "mode:text task:text processor:text how:text job:int arrival_ns:ns deadline_at_ns:ns finish_ns:ns? "
    "response_ns:ns unfinished:yes missed:yes response_bound_ns:ns? tightness_ppm:int? start_ns:ns end_ns:ns "
    "lanes:[text] pieces_in_all:int pieces:[piece] arrivals:[arrival]",
    "piece": "core:text task:text job:int start_ns:ns end_ns:ns kind:text",
    "arrival": "task:text arrival_ns:ns",
    "chain": "name:text mode:text path:[text] reaction_bound_ns:ns? reaction_limit_ns:ns? latency_bound_ns:ns? "
    "latency_limit_ns:ns? data_age_bound_ns:ns? data_age_limit_ns:ns? verdict:verdict reason:text counts:yes "
    "methods:{text} terms:{[term]} reads:{[read]} "
    "reaction_share_ppm:int? latency_share_ppm:int? data_age_share_ppm:int? "
    "reaction_margin_ns:ns? latency_margin_ns:ns? data_age_margin_ns:ns? delays:[delay_in_chain] "
    "observed:[chain_in_run] reaction_observed_ns:ns? latency_observed_ns:ns? data_age_observed_ns:ns? ...",
    "read": "reader:text rate_hz:num first_ns:ns number:int at_ns:ns",
    "delay_in_chain": "task:text kind:text by:text value_ns:ns",
    "chain_in_run": "run:text reaction_max_ns:ns? latency_max_ns:ns? data_age_max_ns:ns? outputs:int? samples:int? "
    "lost:int? unreflected:int? repeated:int?",
    "disparity": "name:text mode:text disparity_bound_ns:ns? disparity_limit_ns:ns? older:text? younger:text? "
    "verdict:verdict reason:text counts:yes method:text? source:text? terms:[term] ...",
    "resources": "resources:[resource] examples:[inversion] blocking:[blocking] unbounded:[unbounded]",
    "resource": "name:text protocol:text effect:text sections:[section] inversion:text waits:[lock_wait]",
    "lock_wait": "mode:text task:text holder:text with_ns:ns? without_ns:ns? between:[text]",
    "inversion": "resource:text task:text holder:text between:[text] runs:[run_under]",
    "run_under": "protocol:text run:critical_run",
    "section": "task:text pe:text from_ns:ns to_ns:ns length_ns:ns",
    "blocking": "mode:text task:text processor:text kind:text by:text? value_ns:ns response_bound_ns:ns?",
    "unbounded": "mode:text task:text reason:text",
    "faults": "verdict:verdict? rows:[fault] not_analysed:[text] worst:worst_fault? planned:yes "
    "arbiter:arbiter_loss? injected:[injected] instants:instants? transitions:[transition] misses:[misses]",
    "fault": "fault:text declared:yes effect:text target:text mode:text mode_after:text verdict:verdict reason:text "
    "chains_kept:[text] chains_lost:[text] lost_sensors:[text] lost_tasks:[lost_task] stale_tasks:[stale_task] "
    "late_tasks:[late_task] handling:handling? recovered_ns:ns? minimal_risk_ns:ns? takeover:takeover?",
    "takeover": "losses:[text] move_count:int moves:[move] dropped:[text] redone:[text] at_once:[at_once] "
    "variants:[variant] weights:[weight] recoveries:[recovery]",
    "move": "task:text processor:text",
    "at_once": "task:text delay_ns:ns",
    "variant": "task:text variant:text",
    "weight": "sensor:text factor:num",
    "recovery": "origin:text until:text path:[text] recovered_ns:ns? terms:any counted:yes reason:text?",
    "lost_task": "name:text reason:text",
    "stale_task": "name:text inputs:[text]",
    "late_task": "name:text response_bound_ns:ns? deadline_ns:ns verdict:verdict reason:text",
    "handling": "detection_declared_ns:ns? detection_derived_ns:ns? detection_derived:any detection_ns:ns? "
    "reaction_declared_ns:ns? reaction_ns:ns? decision_ns:ns? start_latency_ns:ns? first_output_ns:ns? path:text? "
    "limit_ns:ns? margin_ns:ns? longest_detection_ns:ns? verdict:verdict reason:text ...",
    "worst_fault": "fault:text mode:text path:text? detection_ns:ns reaction_ns:ns recovered_ns:ns limit_ns:ns "
    "margin_ns:ns ties:int parts:[fault_part] detection_declared_ns:ns? detection_derived_ns:ns? "
    "detection_parts:[fault_part]",
    "arbiter_loss": "task:text commands_apart_ns:ns? command_age_limit_ns:ns cycle_ns:ns bound_ns:ns "
    "terms:[fault_part] limit_ns:ns? margin_ns:ns? verdict:verdict reason:text",
    "fault_part": "kind:text by:text? value_ns:ns",
    "injected": "file:text sha256:text recording:text clock:text status:text instants:int? upper_quantile:text "
    "runs:int detected:int late:int tolerated:int silent:int unknown:int kinds:[injected_kind] "
    "targets:[injected_target] not_struck:[text] kinds_not_struck:[text]",
    "injected_kind": _INJECTED,
    "injected_target": f"target:text {_INJECTED}",
    "instants": "file:text sha256:text commit:text? made:text? upper_quantile:text losses:[loss_at_instants]",
    "loss_at_instants": "fault:text loss:text instants:int detected_ns:spread? recovered_ns:spread? over_bound:int "
    "not_recovered:int detection_bound_ns:ns? recovery_bound_ns:ns? limit_ns:ns?",
    "spread": "min_ns:ns p50_ns:ns p99_ns:ns max_ns:ns",
    "transition": "name:text mode:text mode_after:text verdict:verdict tasks:[transition_task]",
    "transition_task": "name:text presence:text response_bound_ns:ns? deadline_ns:ns verdict:verdict reason:text "
    "method:text?",
    "misses": "mode:text task:text at_most:int? of:int allowed:int verdict:verdict reason:text ...",
    "evidence": "runs:[run] search:search?",
    "search": "file:text sha256:text status:text reason:text seed:int runs:int interrupted:yes "
    "median_tightness_ppm:int? command:text? targets:[search_target]",
    "search_target": "name:text kind:text quantity:text value_ns:ns? bound_ns:ns? limit_ns:ns? strategy:text? run:int? "
    "seed:int job:text? scenario:text? tightness_ppm:int?",
    "run": "name:text folder:text status:text? reason:text? clock:text tier:text? modelled:yes duration_ns:ns? "
    "recording:text? command:text? seed:int? schedule_sha256:text? trace_violations:int monitors:[monitor] "
    "bounds_exceeded:[any] bounds_cover_until_ns:ns? tasks:[task_in_run] chains:[any] faults:[any]",
    "monitor": "assumption:text text:text? holds:yes? checked:int? broken:int? unit:text?",
    "task_in_run": "name:text pe:text jobs:int? completed:int? misses:int? drops:int? overruns:int? aborted:int? "
    "lost:int? skipped:int? executed_max_ns:ns? wcet_ns:ns bcet_ns:ns budget_ns:ns? high_water_ppm:int? "
    "histogram:histogram response_max_ns:ns? response_bound_ns:ns? response_ppm:int? jobs_compared:int "
    "jobs_above_bound:int",
    "histogram": "bin_ns:ns counts:[int]",
    "margins": "searches:int modes:[mode_margins]",
    "mode_margins": "mode:text not_proven:text? scaling_ppm:int? limited_by:text? tasks:[task_margin] chains:[any] "
    "frequencies:[any] rates:[any] ...",
    "task_margin": "name:text wcet_ns:ns margin_ns:ns margin_ppm:int limited_by:text? ...",
    "safety_path": "arbiter:text primary:text backup:text? command_deadline_ns:ns? recovery_limit_ns:ns? "
    "budgets:[budget] argument:[step] interference:[interference] shared:{[text]}?",
    "budget": "mode:text role:text task:text criticality:text pe:text wcet_ns:ns budget_ns:ns? response_bound_ns:ns? "
    "deadline_ns:ns slack_ns:ns? verdict:verdict",
    "step": "mode:text text:text holds:yes?",
    "interference": "mode:text role:text task:text criticality:text by:text by_criticality:text? kind:text value_ns:ns "
    "lower:yes",
    "requirements": "requirements:[requirement] limits:[limit] limit_count:int orphan_count:int "
    "requirements_without_limit:[text] limits_without_requirement:[text]",
    "requirement": "requirement:text asil:text? source:text? rationale:text? braking:braking? limits:[required_limit]",
    "braking": "closing_speed_m_s:num range_m:num deceleration_m_s2:num actuation_ns:ns stopping_distance_m:num "
    "derived_limit_ns:ns",
    "required_limit": "limit:text mode:text limit_ns:ns bound_ns:ns? margin_ns:ns? observed_ns:ns? verdict:verdict "
    "evidence:[text] anchor:text derived_limit_ns:ns? covered:yes levels_below:[text]",
    "limit": "limit:text mode:text limit_ns:ns bound_ns:ns? margin_ns:ns? observed_ns:ns? verdict:verdict "
    "evidence:[text] anchor:text requirements:[text]",
    "reproduction": "command:text inputs:[input] runs:[run_made] versions:{text} machine:{any} methods:[[text]] "
    "validation:validation",
    "input": "path:text sha256:text",
    "run_made": "name:text command:text? seed:int? schedule_sha256:text?",
    "validation": "bounds:validated_bounds? chains:validated_bounds? transitions:validated_bounds? "
    "methods:[validated_method] kernel:validated_kernel? mutations:validated_mutations?",
    "validated_bounds": "what:text systems:int bounds_exceeded:int commit:text made:text",
    "validated_method": "method:text accepted:int? inconclusive:int? refused:int? attained:int? median_tightness:num?",
    "validated_kernel": "what:text systems:int jobs:int disagreements:int checker_violations:int commit:text made:text",
    "validated_mutations": "what:text mutations:int caught:int commit:text made:text",
    "iso_26262": "text:text rows:[clause]",
    "clause": "section:text clause:text asks:text brings:text",
}


def report_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of what `rt-sched report --json` prints and writes beside the page."""
    return {
        "$schema": DIALECT,
        "title": TITLE,
        "description": "Every number that a schedulability report shows. Times are integer nanoseconds (_ns), shares "
        "millionths (_ppm); null where a value is not known or not asked for.",
        "$ref": "#/$defs/report",
        "$defs": {name: _row(line) for name, line in _ROWS.items()},
    }


def _row(line: str) -> dict[str, Any]:
    words = line.split()
    open_ended = words[-1] == "..."
    keys = dict(word.split(":", 1) for word in words if word != "...")
    return {
        "type": "object",
        "properties": {key: _value(what) for key, what in keys.items()},
        "required": list(keys),
        "additionalProperties": open_ended,
    }


def _value(what: str) -> dict[str, Any]:
    if what.endswith("?"):
        return {"anyOf": [_value(what[:-1]), {"type": "null"}]}
    if what.startswith("["):
        return {"type": "array", "items": _value(what[1:-1])}
    if what.startswith("{"):
        return {"type": "object", "additionalProperties": _value(what[1:-1])}
    return _PLAIN.get(what, {"$ref": f"#/$defs/{what}"})
