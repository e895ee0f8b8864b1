"""The stages that can be imported: what each declares, and instances of them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from rt_sched.config.problems import lacking, listed, unknown
from rt_sched.errors import DeploymentError
from rt_sched.model import Task
from rt_sched.ports import Stage, StageDescription, StageParameter

_LIFECYCLE = ("start", "preprocess", "process", "postprocess", "stop")


class ImportedStages:
    """A catalogue of every stage class that Python can import, named "module:Class"."""

    def describe(self, stage: str) -> StageDescription | str:
        """See `StageCatalogue.describe`."""
        found = _find_class(stage)
        if isinstance(found, str):
            return found
        complaint = _why_no_stage(found)
        if complaint is not None:
            return f"{stage} is not a stage: {complaint}"
        parameters, open_parameters = _constructor_parameters(found)
        return StageDescription(
            inputs=dict(found.inputs),
            outputs=dict(found.outputs),
            stateful=bool(found.stateful),
            parameters=parameters,
            optional_inputs=frozenset(getattr(found, "optional_inputs", ())),
            open_parameters=open_parameters,
            sensor_parameters=dict(getattr(found, "sensor_parameters", {})),
        )

    def check_parameters(self, stage: str, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """See `StageCatalogue.check_parameters`: constructs the stage, which is cheap by contract.

        After a complaint that names a parameter it is constructed again without that one, to find the next.
        """
        found = _find_class(stage)
        if isinstance(found, str):
            return (found,)
        left, complaints = dict(parameters), []
        while (complaint := _refusal(found, left)) is not None:
            complaints.append(complaint)
            named = re.match(r"(\w+): ", complaint)
            if named is None or left.pop(named[1], None) is None or _lacks_parameter(found, left):
                break
        return tuple(complaints)

    def create(self, task: Task) -> Stage:
        """A new instance for `task`; raises DeploymentError where its class or parameters are wrong."""
        if not task.stage:
            raise DeploymentError(
                f"task {task.name}: it has no stage, so it can be simulated only; add stage: module:Class"
            )
        parameters = dict(task.parameters)
        found = _find_class(task.stage)
        complaints = (found,) if isinstance(found, str) else self.check_parameters(task.stage, parameters)
        if isinstance(found, str) or complaints:
            raise DeploymentError(f"task {task.name}: {'; '.join(complaints)}")
        instance: Stage = found(**parameters)
        return instance


def _refusal(found: Any, parameters: Mapping[str, Any]) -> str | None:
    """What the constructor says against these parameters."""
    try:
        found(**parameters)
    except (ValueError, TypeError) as error:
        return " ".join(str(error).split()) or type(error).__name__
    except Exception as error:
        return f"the constructor failed with {type(error).__name__}: {error}"
    return None


def _lacks_parameter(found: Any, parameters: Mapping[str, Any]) -> bool:
    known, _ = _constructor_parameters(found)
    return any(parameter.required and name not in parameters for name, parameter in known.items())


def _find_class(stage: str) -> Any:
    """The class, or what is wrong with the name."""
    module_name, _, class_name = stage.partition(":")
    module = _import(module_name)
    if isinstance(module, str):
        return module
    found = getattr(module, class_name, None)
    if not inspect.isclass(found):
        return lacking(module_name, "stage", class_name, _stage_classes(module))
    return found


def _import(module_name: str) -> ModuleType | str:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if module_name == missing or module_name.startswith(missing + "."):
            return _missing_module_message(module_name, missing)
        return f"the module {module_name} cannot be imported: it needs {missing!r}, which is not installed"
    except Exception as error:
        return f"the module {module_name} cannot be imported: {type(error).__name__}: {error}"


def _missing_module_message(module_name: str, missing: str) -> str:
    parent = missing.rpartition(".")[0]
    folder = _import(parent) if parent else None
    if not isinstance(folder, ModuleType) or not hasattr(folder, "__path__"):
        return f"there is no module {missing!r} to import; is it installed, or its folder on PYTHONPATH?"
    siblings = sorted(f"{parent}.{module.name}" for module in pkgutil.iter_modules(folder.__path__))
    return unknown("module", module_name, siblings)


def _stage_classes(module: ModuleType) -> list[str]:
    """The stage classes that the module itself defines."""
    return [
        name
        for name, value in sorted(vars(module).items())
        if inspect.isclass(value) and value.__module__ == module.__name__ and _why_no_stage(value) is None
    ]


def _why_no_stage(found: Any) -> str | None:
    missing = [name for name in _LIFECYCLE if not callable(getattr(found, name, None))]
    if missing:
        return f"it has no {listed(missing)}; a stage has {listed(_LIFECYCLE)}"
    for ports in ("inputs", "outputs"):
        declared = getattr(found, ports, None)
        if not isinstance(declared, Mapping) or not all(
            isinstance(name, str) and isinstance(message, type) for name, message in declared.items()
        ):
            return f"its {ports!r} must map port names to message types"
    if not isinstance(getattr(found, "stateful", None), bool):
        return "its 'stateful' must be True or False"
    return None


def _constructor_parameters(found: Any) -> tuple[dict[str, StageParameter], bool]:
    """The keyword parameters by name, and whether any other is accepted too."""
    if found.__init__ is object.__init__:
        return {}, False
    kinds = inspect.Parameter
    accepted = [
        parameter
        for parameter in inspect.signature(found).parameters.values()
        if parameter.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)
    ]
    described = {
        parameter.name: StageParameter(required=True)
        if parameter.default is kinds.empty
        else StageParameter(required=False, default=parameter.default)
        for parameter in accepted
    }
    is_open = any(p.kind is kinds.VAR_KEYWORD for p in inspect.signature(found).parameters.values())
    return described, is_open
