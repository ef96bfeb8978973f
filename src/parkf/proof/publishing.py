"""Whether the set of a run may be published, and what keeps it from that."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.params.manifest import Gate, Validity
from parkf.params.parameter_set import ParameterSet, load
from parkf.params.publisher import Publisher
from parkf.params.registry import Registry
from parkf.proof.comparing.documents import publish_documents
from parkf.proof.gates.hold import hold
from parkf.proof.gates.room import unmeasured
from parkf.proof.gates.thresholds import Thresholds
from parkf.proof.trigger_client import client_gates


@dataclass(frozen=True)
class Decision:
    """What publishing a set would do today."""

    gates: Sequence[Gate]  # of the run and, for production's forms, of the trigger
    replaces: Mapping[str, Sequence[str]]  # published sets, and what the new set has less or other
    problems: Sequence[str]  # other reasons for a refusal

    @property
    def missed(self) -> list[Gate]:
        """Gates whose figures are beyond their bars."""
        return [gate for gate in self.gates if not gate.met and not unmeasured(gate)]

    @property
    def unmeasured(self) -> list[Gate]:
        """Gates whose figures are missing, or have errors that are too large."""
        return [gate for gate in self.gates if unmeasured(gate)]

    @property
    def reasons(self) -> list[str]:
        """All reasons for a refusal; empty if the set may be published."""
        return [
            *(f"gate missed: {one}" for one in self.missed),
            *(f"not measured: {g.what} (bar {g.bar})" for g in self.unmeasured),
            *(
                f"it would replace {name}, with {', '.join(less)}"
                for name, less in self.replaces.items()
                if less
            ),
            *self.problems,
        ]

    def command(self, parameters: Path) -> str:
        """Return the command that publishes the set; it names the sets that need ``--supersede``."""
        named = "".join(f" --supersede {name}" for name, less in self.replaces.items() if less)
        return f"parkf params publish {parameters}{named}"


def decide(parameters: ParameterSet, run: Path, gates: Sequence[Gate], registry: Registry) -> Decision:
    """Find out what publishing the set of a run would do; `gates` are those of the run.

    Whether all files are products of the run itself is checked by ``parkf verify`` and when publishing.
    """
    manifest, problems, held = parameters.manifest, [], list(gates)
    try:
        held += _client_gates(parameters, run, registry)
    except ParkfError as error:
        problems.append(f"not measured in the trigger's arithmetic: {error}")
    if (same := registry.same_numbers(manifest)) is not None:
        problems.append(f"the same numbers are published already, as {same}")
    return Decision(held, registry.replaced(manifest), problems)


def _client_gates(parameters: ParameterSet, run: Path, registry: Registry) -> list[Gate]:
    """Return the gates of the trigger's arithmetic; none for a set that the trigger cannot read."""
    if parameters.manifest.forms != "production" or not (run / "candidates").is_dir():
        return []
    before = registry.newest_alike(parameters.manifest)
    return client_gates(parameters, run, registry.load(before) if before else None)[1]


def publish_run(
    folder: Path,
    registry: Path,
    thresholds: Thresholds,
    *,
    year: int | None = None,
    validity: Validity | None = None,
    supersede: Collection[str] = (),
) -> ParameterSet:
    """Publish the set of a run under the next free name, if it meets its gates; return it as published.

    A set that the trigger can read is measured in the trigger's arithmetic, too, with the candidates of its
    run. `year` is that of the data, by default this one. A set that misses a gate raises a ParkfError, and so
    does one that would replace others with less, unless `supersede` names these.
    """
    sets, run, numbers = Publisher(registry), folder.absolute().parent, load(folder)
    held = [*hold(folder, thresholds), *_client_gates(numbers, run, sets)]
    year = year or datetime.now(UTC).year
    version = sets.publish(folder, year=year, gates=held, validity=validity, supersede=supersede)
    published = sets.load(version)
    publish_documents(run, published.manifest, registry)
    return published
