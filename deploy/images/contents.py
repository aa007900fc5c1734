#!/usr/bin/env python3
"""What is in an image: writes it as CycloneDX (a software bill of materials) and prints the digest of the image's files
and settings, which does not depend on when it was built.

    deploy/images/contents.py REPOSITORY IMAGE VERSION FILE

Crates are those that Cargo.lock has for the programs in the image, jars those that `make build` noted, npm's packages
those of package-lock.json. Files that a Debian package of this machine has, which it must be whose image it is, count as
that package's."""

import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile

# Files that docker itself adds to a container.
DOCKERS = re.compile(r"(\.dockerenv|(dev|proc|sys)(/.*)?|etc/(hostname|hosts|mtab|resolv\.conf))$")


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def files_of(image):
    """Of each file in it: its path, and what makes it that file."""
    container = run("docker", "create", image).strip()
    try:
        with subprocess.Popen(["docker", "export", container], stdout=subprocess.PIPE) as export:
            with tarfile.open(fileobj=export.stdout, mode="r|") as archive:
                for member in archive:
                    if DOCKERS.match(member.name):
                        continue
                    content = archive.extractfile(member) if member.isreg() else None
                    content = hashlib.file_digest(content, "sha256").hexdigest() if content else member.linkname
                    yield member.name, (oct(member.mode), member.uid, member.gid, member.type.decode(), content)
    finally:
        run("docker", "rm", container)


def digest_of(image, files):
    settings = json.loads(run("docker", "image", "inspect", "--format", "{{json .Config}}", image))
    kept = {key: settings.get(key) for key in ("User", "Env", "Cmd", "Entrypoint", "Labels", "WorkingDir")}
    whole = json.dumps([kept, sorted(files.items())], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def component(kind, name, version, url, licence=None):
    found = {"type": kind, "name": name, "version": version, "purl": url, "bom-ref": url}
    if licence:
        found["licenses"] = [{"expression": licence}]
    return found


def crates(repository, programs):
    tree = ["cargo", "tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}|{l}"]
    for line in run(*tree, *(f"--package={program}" for program in programs), cwd=repository).splitlines():
        package, _, licence = line.removesuffix(" (*)").partition("|")
        if not package:
            continue
        name, version, *rest = package.split(" ")
        if any(it.startswith("(/") for it in rest):
            continue
        # Licences written before SPDX had expressions.
        licence = licence.removesuffix(" (*)").replace("/", " OR ") or None
        yield component("library", name, version[1:], f"pkg:cargo/{name}@{version[1:]}", licence)


def jars(repository):
    with open(os.path.join(repository, "standalone/target/burst-standalone.dependencies")) as noted:
        for line in noted:
            parts = line.split(" -- ")[0].strip().split(":")
            if len(parts) >= 5 and parts[0] != "io.burst":
                group, name, version = parts[0], parts[1], parts[-2]
                found = component("library", name, version, f"pkg:maven/{group}/{name}@{version}")
                yield found | {"group": group}


def node_packages(repository):
    with open(os.path.join(repository, "deploy/runtime/packages/package-lock.json")) as lock:
        for path, package in json.load(lock)["packages"].items():
            if path:
                name = path.rpartition("node_modules/")[2]
                url = "pkg:npm/" + name.replace("@", "%40") + "@" + package["version"]
                yield component("library", name, package["version"], url, package.get("license"))


def debian_packages(files):
    owners = {}
    for listed in glob.glob("/var/lib/dpkg/info/*.list"):
        name = os.path.basename(listed).removesuffix(".list").split(":")[0]
        with open(listed) as lines:
            owners.update((line.rstrip("\n"), name) for line in lines)
    # A file that is a link on the image's path belongs to a package under
    # either path.
    paths = [f"/{path}" for path, made in files.items() if made[3] == "0"]
    own = {"/bin/sh": "dash", "/bin/renice": "bsdutils", "/etc/ssl/certs/ca-certificates.crt": "ca-certificates"}
    found = {own.get(path) or owners.get(path) or owners.get(path.removeprefix("/usr")) for path in paths}
    found |= {owners.get(os.path.realpath(path)) for path in paths if ".so" in path}
    found.add("openjdk-17-jre-headless" if any("/jre/" in path for path in paths) else None)
    for name in found - {None}:
        shown = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}\n", name], capture_output=True, text=True)
        version = shown.stdout.splitlines()[0] if shown.returncode == 0 and shown.stdout else None
        if version:
            yield component("library", name, version, f"pkg:deb/debian/{name}@{version}")


def interpreters(files):
    for name in ("python3", "node"):
        if f"usr/bin/{name}" in files:
            version = run(name, "--version").split()[-1].removeprefix("v")
            yield component("application", name, version, f"pkg:generic/{name}@{version}")


def main(repository, image, version, file):
    files = dict(files_of(f"{image}:latest"))
    found = list(debian_packages(files)) + list(interpreters(files))
    if "usr/lib/burst/lib/burst-standalone.jar" in files:
        found += [*crates(repository, ["burst-cli", "burst-runtime", "hello"]), *jars(repository)]
    else:
        found += crates(repository, ["burst-runtime"])
    if any(path.startswith("node_modules/") for path in files):
        found += node_packages(repository)
    digest = digest_of(image + ":latest", files)
    unique = {it["bom-ref"]: it for it in found}
    whole = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": image, "version": f"{version}-{digest}", "bom-ref": image}},
        "components": [unique[key] for key in sorted(unique)],
    }
    with open(file, "w") as out:
        json.dump(whole, out, indent=1)
        out.write("\n")
    print(digest)


main(*sys.argv[1:])
