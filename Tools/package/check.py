"""Checks a bill of materials and the Dockerfile, which is not built here: `check.py SBOM`. Needs Tools/requirements.txt.

The bill is validated by the strict schema of CycloneDX. The Dockerfile is parsed.
"""

import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from dockerfile_parse import DockerfileParser

PACKAGING = Path(__file__).resolve().parent.parent.parent / "packaging"


def bill_faults(path):
    fault = JsonStrictValidator(SchemaVersion.V1_5).validate_str(Path(path).read_text(encoding="utf-8"))
    return [f"{path}: {fault}"] if fault else []


def image_faults():
    parser = DockerfileParser(path=str(PACKAGING.parent / "untried" / "docker" / "Dockerfile"))
    steps = [(step["instruction"], step["value"]) for step in parser.structure if step["instruction"] != "COMMENT"]
    start = max(index for index, (name, _) in enumerate(steps) if name == "FROM")
    last = steps[start:]
    faults = [f"the image {image} has no version" for image in parser.parent_images if ":" not in image or image.endswith(":latest")]
    users = [value for name, value in last if name == "USER"]
    if not users or users[-1].split(":")[0] in ("0", "root"):
        faults.append("the image runs as root")
    names = [name for name, _ in last]
    faults += [f"the last stage has no {name}" for name in ("HEALTHCHECK", "ENTRYPOINT", "EXPOSE", "VOLUME") if name not in names]
    if "ADD" in names:
        faults.append("ADD may fetch; use COPY")
    if any("swift" in value for name, value in last if name in ("FROM", "RUN")):
        faults.append("the last stage has Swift")
    root = PACKAGING.parent
    for name, value in steps:
        if name == "COPY" and "--from" not in value:
            faults += [f"COPY names {source}, which is missing" for source in value.split()[:-1] if not (root / source).exists()]
    return faults


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = bill_faults(sys.argv[1]) + image_faults()
    if found:
        sys.exit("\n".join(found))
