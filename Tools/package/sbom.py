"""Writes a bill of materials of a program: the libraries that it loads, with the packages that they come from.

    python3 Tools/package/sbom.py PROGRAM VERSION [SWIFT_VERSION] > spool.cdx.json
    python3 Tools/package/sbom.py --spdx spool.cdx.json > spool.spdx.json

The format is CycloneDX 1.5, as JSON; the second form writes the same list as SPDX 2.3. The list is the real one: `objdump` has the libraries that each file names, `ldd` has their places,
and `dpkg` their packages. The same program and packages make the same bytes; the time is SOURCE_DATE_EPOCH.
"""

import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import uuid


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True, env={**os.environ, "LC_ALL": "C"})
    return done.stdout


def needed(path):
    """The names of the libraries that a file asks the loader for."""
    return re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", path))


def places(program):
    """The paths of all libraries that the loader would load, by name."""
    found = dict(re.findall(r"(\S+) => (/\S+)", run("ldd", program)))
    found.update({os.path.basename(path): path for path in re.findall(r"^\s+(/\S+) \(", run("ldd", program), re.M)})
    return {name: os.path.realpath(path) for name, path in found.items()}


def package(path):
    """The name, version, architecture and licence file of the package of a file, or None."""
    # Debian's packages name files by the paths before /lib became a link to /usr/lib.
    for spelling in (path, path.removeprefix("/usr")):
        if match := re.match(r"([^:,]+)(?::\S+)?: ", run("dpkg", "-S", spelling)):
            said = run("dpkg-query", "-W", "-f", "${Version} ${Architecture} ${source:Package}", match[1]).split()
            if len(said) == 3:
                return match[1], *said
    return None


def distribution():
    with open("/etc/os-release", encoding="utf-8") as file:
        values = dict(line.rstrip().split("=", 1) for line in file if "=" in line)
    return values.get("ID", "linux").strip('"'), values.get("VERSION_ID", "").strip('"')


def component(name, path, system):
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    found = {"type": "library", "bom-ref": name, "name": name, "hashes": [{"alg": "SHA-256", "content": digest}]}
    if entry := package(path):
        title, version, architecture, source = entry
        found["bom-ref"] = f"pkg:deb/{system[0]}/{title}@{version}?arch={architecture}&distro={system[0]}-{system[1]}"
        found.update(name=title, version=version, purl=found["bom-ref"])
        found["properties"] = [{"name": "spool:file", "value": name}, {"name": "spool:source-package", "value": source}]
    return found


def bill(program, version, swift=None):
    system, paths = distribution(), places(program)
    missing = [name for name in needed(program) if name not in paths]
    if missing:
        sys.exit(f"the loader finds no {', '.join(missing)}, which {program} needs")
    components = {name: component(name, path, system) for name, path in sorted(paths.items())}
    # Several libraries may come from one package.
    by_ref = {}
    for entry in components.values():
        kept = by_ref.setdefault(entry["bom-ref"], entry)
        if kept is not entry:
            kept["properties"] = kept.get("properties", []) + entry.get("properties", [])[:1]
            kept.pop("hashes", None)
    root = f"pkg:generic/spool@{version}"
    edges = {root: {components[name]["bom-ref"] for name in needed(program)}}
    for name, path in paths.items():
        ref = components[name]["bom-ref"]
        edges.setdefault(ref, set()).update(components[other]["bom-ref"] for other in needed(path) if other in components)
        edges[ref].discard(ref)
    if swift:
        runtime = f"pkg:generic/swift-runtime@{swift}"
        by_ref[runtime] = {
            "type": "library", "bom-ref": runtime, "name": "swift-runtime", "version": swift, "purl": runtime,
            "description": "The standard library and Foundation of Swift, linked into the program.",
        }
        edges[root].add(runtime)
        edges[runtime] = set()
    moment = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application", "bom-ref": root, "name": "spool", "version": version, "purl": root,
                "licenses": [{"license": {"id": "MIT"}}],
            },
        },
        "components": [by_ref[ref] for ref in sorted(by_ref)],
        "dependencies": [{"ref": ref, "dependsOn": sorted(edges[ref])} for ref in sorted(edges)],
    }
    content = json.dumps(document, sort_keys=True)
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}"
    return document


def spdx(document):
    """The same bill in SPDX 2.3."""
    root = document["metadata"]["component"]
    entries = [root] + document["components"]
    names = {entry["bom-ref"]: f"SPDXRef-{'spool' if entry is root else number}" for number, entry in enumerate(entries)}
    packages = [
        {
            "SPDXID": names[entry["bom-ref"]], "name": entry["name"], "versionInfo": entry.get("version", ""),
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "copyrightText": "NOASSERTION", "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "MIT" if entry is root else "NOASSERTION",
            "externalRefs": [
                {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": entry["purl"]}
            ] if "purl" in entry else [],
        }
        for entry in entries
    ]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": names[root["bom-ref"]]}] + [
        {"spdxElementId": names[edge["ref"]], "relationshipType": "DEPENDS_ON", "relatedSpdxElement": names[target]}
        for edge in document["dependencies"] for target in edge["dependsOn"]
    ]
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"spool-{root['version']}",
        "documentNamespace": f"https://spool.example.com/spdx/{document['serialNumber'].removeprefix('urn:uuid:')}",
        "creationInfo": {"created": document["metadata"]["timestamp"], "creators": ["Tool: spool-sbom"]},
        "packages": packages, "relationships": relations,
    }


def main():
    if sys.argv[1] == "--spdx":
        with open(sys.argv[2], encoding="utf-8") as file:
            return spdx(json.load(file))
    return bill(*sys.argv[1:4])


if __name__ == "__main__":
    json.dump(main(), sys.stdout, indent=1, sort_keys=True)
    print()
