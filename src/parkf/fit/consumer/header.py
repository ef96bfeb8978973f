"""Writes the header: the loader, the manifest's schema, the kernel, and the parts of each set of forms."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from parkf import __version__
from parkf.fit.source import KERNEL_FOLDER
from parkf.io.files import read_json
from parkf.io.option_types import FORMS_NAMES
from parkf.model.layout.blocks import Layout
from parkf.model.layout.built import layout_files, layout_in
from parkf.params.manifest import CHECKED_FORMAT, FORMAT_VERSION, OLDEST_FORMAT, json_schema

_HERE = Path(__file__).parent
_INCLUDE = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)
# Compilers limit the length of a string.
_PIECE = 8000
_DESCRIPTIONS = frozenset({"title", "description", "$schema"})

# CUDA has no vector types.
_IF_LANES = "#if !defined(__CUDACC__) && defined(__GNUC__)\n"
_IF_CUDA = "#if defined(__CUDACC__)\n"

_OPENING = f"""\
#pragma once
// parkf {__version__}: loads parameter sets of the Parameterised Kalman Filter and fits tracks with them.
// Written by `parkf params header`; C++17 and its standard library are all it needs. GCC and Clang fit
// several tracks at once. Options for the same numbers as parkf's own builds, to the last bit:
//   all builds   -O3 -fno-math-errno -fno-trapping-math -Wno-psabi
//   plain        -ffp-contract=off
//   x86-64-v2    -march=x86-64-v2 -ffp-contract=off
//   x86-64-v3    -march=x86-64-v3 -ffp-contract=fast
//   x86-64-v4    -march=x86-64-v4 -ffp-contract=fast -mprefer-vector-width=512
"""


def cpp_header() -> str:
    """Return the header for all sets of forms of the installed kernel, also of old layouts."""
    # The names of the kernel are those of its folders.
    kernel = {
        path.parent.name: layout_in(read_json(path)) for name in FORMS_NAMES for path in layout_files(name)
    }
    shared: set[str] = set()
    parts = [
        _OPENING,
        f"namespace parkf {{\nconstexpr int format_version = {FORMAT_VERSION};\n",
        f"constexpr int oldest_format = {OLDEST_FORMAT};\n",
        f"constexpr int checked_format = {CHECKED_FORMAT};\n}}\n",
        _expand("numbers/number.hpp", None, shared),
        _IF_LANES,
        _expand("numbers/lanes.hpp", None, shared),
        "#endif\n",
        _expand("fit.hpp", None, shared),
        _schema(json_schema()),
        _layouts(kernel),
    ]
    for name in kernel:
        # Code of a set of forms is in its namespace, and appears once for each set.
        made_for_it = set(shared)
        parts += [
            _expand(file, name, made_for_it)
            for file in ("fit/smoother.hpp", "fit/trigger.hpp", "fit/score.hpp")
        ]
        parts += [_IF_LANES, _expand("fit/magnet_lanes.hpp", name, made_for_it), "#endif\n"]
        parts += [_IF_CUDA, _expand("fit/magnet_block.hpp", name, made_for_it), "#endif\n"]
        parts.append("#undef PARKF_FORMS\n")
        shared |= {file for file in made_for_it if not _is_made_for_forms(file)}
    parts.append(_dispatch(kernel))
    return "".join(parts)


def _file(name: str, forms: str | None) -> Path:
    folders = [_HERE, KERNEL_FOLDER, *([KERNEL_FOLDER / forms] if forms else [])]
    return next(folder / name for folder in folders if (folder / name).exists())


def _is_made_for_forms(name: str) -> bool:
    return "PARKF_FORMS" in _file(name, FORMS_NAMES[0]).read_text()


def _expand(name: str, forms: str | None, seen: set[str]) -> str:
    """Return the text of a file with those that it includes, each once."""
    if name in seen:
        return ""
    seen.add(name)
    text = _file(name, forms).read_text().replace("#pragma once\n", "")
    return _INCLUDE.sub(lambda match: _expand(match[1], forms, seen), text)


def _schema(schema: Mapping[str, Any]) -> str:
    text = json.dumps(_bare(schema), separators=(",", ":"))
    pieces = [text[i : i + _PIECE] for i in range(0, len(text), _PIECE)]
    literals = ",\n".join(f'      R"json({piece})json"' for piece in pieces)
    return (
        "\nnamespace parkf {\n\ninline const std::vector<std::string_view>& schema_text() {\n"
        f"  static const std::vector<std::string_view> pieces{{\n{literals}}};\n  return pieces;\n}}\n\n"
        "}  // namespace parkf\n"
    )


def _bare(schema: Any) -> Any:
    """Remove descriptions; names of properties stay, whatever they are."""
    if isinstance(schema, list):
        return [_bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    named = ("properties", "$defs")
    return {
        key: {name: _bare(one) for name, one in value.items()} if key in named else _bare(value)
        for key, value in schema.items()
        if key not in _DESCRIPTIONS
    }


def _layouts(kernel: Mapping[str, Layout]) -> str:
    entries = ",\n".join(_layout(name, layout) for name, layout in kernel.items())
    return (
        "\nnamespace parkf {\n\ninline const std::vector<FormsLayout>& known_forms() {\n"
        f"  static const std::vector<FormsLayout> all{{\n{entries}}};\n  return all;\n}}\n\n"
        "}  // namespace parkf\n\n"
    )


def _layout(kernel: str, layout: Layout) -> str:
    blocks = ", ".join(f'{{"{b.name}", {b.shape[0]}, {b.shape[1]}}}' for b in layout.blocks)
    about = f'"{layout.name}", "{kernel}", {layout.layout_version}, "{layout.formulas}"'
    return f"      {{{about},\n       {{{blocks}}}}}"


def _dispatch(kernel: Iterable[str]) -> str:
    cases = "\n".join(
        f"""  if (kernel == "{name}") {{
    for (long i = begin; i < end; i += Number<T>::lanes) {{
      if (job.score != nullptr) {{
        kalman::{name}::MagnetCoefficients<T> m;
        T features[kalman::score::features], both[kalman::score::models];
        kalman::store(kalman::{name}::fit_with_features<T>(job.tracks, i, job.detector, m, features),
                      job.tracks.stride, i, job.numbers, job.integers);
        kalman::{name}::scores(job.score, features, both);
        for (int q = 0; q < kalman::score::models; ++q) {{
          kalman::store(both[q], job.scores + q * job.tracks.stride + i);
        }}
        continue;
      }}
      const kalman::Fitted<T> track =
          job.scheme == Scheme::smoother
              ? kalman::{name}::fit_smoother<T>(job.tracks, i, job.detector)
              : kalman::{name}::fit_trigger<T>(job.tracks, i, job.detector);
      kalman::store(track, job.tracks.stride, i, job.numbers, job.integers);
    }}
    return true;
  }}"""
        for name in kernel
    )
    return f"""
namespace parkf::detail {{

template <class S>
bool fit_range(const std::string& kernel, const Job<S>& job, long begin, long end) {{
  using T = Together<S>;
{cases}
  return false;
}}

}}  // namespace parkf::detail
"""
