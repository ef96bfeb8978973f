"""Fingerprint of a document's content: comments, order of keys, spaces and quotes do not count."""

import hashlib
import json
import math
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from parkf.io.documents import json_text
from parkf.io.files import existing, sha256

LARGEST = 16 << 20
"""Bytes of a document; a larger file counts as its bytes."""
_KINDS = (".yaml", ".yml", ".json")


def meaning_of(path: Path) -> str:
    """Return the fingerprint of what a file means: 64 hexadecimal digits; a ParkfError if it is missing.

    The fingerprint of a YAML or JSON document is that of its content. The order of keys does not count, and 1
    is the same as 1.0. The fingerprint of any other file, and of a document that cannot be read or has tags,
    such as LHCb's conditions, is that of its bytes.
    """
    if path.suffix not in _KINDS or existing(path).stat().st_size > LARGEST:
        return sha256(path)
    return _of_content(path.read_bytes(), path.suffix == ".json")


# A run asks for the same documents often.
@cache
def _of_content(written: bytes, is_json: bool) -> str:
    try:
        text = written.decode("utf-8-sig")
        if is_json:
            content = json_text.parse(text)
        else:
            # Imported here, because most jobs read no YAML.
            from parkf.io.documents import yaml_text

            content, _ = yaml_text.parse(text)
    except ValueError:
        # The readers of the document report what is wrong with it.
        return hashlib.sha256(written).hexdigest()
    canonical = json.dumps(_canonical(content), separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def is_file_of(path: Path, fingerprint: str) -> bool:
    """Whether a fingerprint is that of a file's meaning, or of its bytes, as in the first published sets."""
    return fingerprint in (meaning_of(path), sha256(path))


def _canonical(content: Any) -> Any:
    """Return content as JSON that is equal for all contents with the same meaning."""
    if isinstance(content, dict):
        pairs = [[_canonical(key), _canonical(value)] for key, value in content.items()]
        return {"mapping": sorted(pairs, key=lambda pair: json.dumps(pair[0]))}
    if isinstance(content, list):
        return [_canonical(one) for one in content]
    if isinstance(content, float):
        # A zero has a sign, which angles may depend on; infinities and NaN are no integers.
        whole = content.is_integer() and (content != 0 or math.copysign(1, content) > 0)
        return int(content) if whole else {"number": repr(content)}
    if isinstance(content, date):
        return {"date": content.isoformat()}
    return content
