#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What of packaging/ and docs/security.md can be checked without running it.

- docs/security.md, section 1, has every label of config/METRICS.md.
- The DaemonSet is a HostProcess container with the network of the host, on Windows nodes; its probes, ports and paths are those of the
  program and of each other. Fields: "Create a Windows HostProcess Pod", Kubernetes documentation.
- The Dockerfile copies what the archive for Windows has.
- No file of packaging/ names an address of a registry or of a download, except for examples.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
SECURITY = 'docs/security.md'
faults = []


def expect(what, good):
    if not good:
        faults.append(what)


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def check_labels():
    labels = set()
    for row in re.finditer(r"^\| `\w+` \| \w+ \| ([^|]*)\|", text("config/METRICS.md"), re.M):
        labels |= {label.strip() for label in row[1].split(",")} - {""}
    expect("config/METRICS.md: labels were not found", len(labels) > 20)
    section = re.split("^## 2", text(SECURITY), flags=re.M)[0]
    named = {label for row in re.finditer(r"^\| (`[^|]*) \|", section, re.M) for label in re.findall(r"`(\w+)`", row[1])}
    for label in sorted(labels - named):
        faults.append(f"docs/security.md: the label {label} is missing in section 1")
    # Labels of buckets, and those that `labels:` of a configuration adds.
    for label in sorted(named - labels - {"le", "owner", "terminal_session"}):
        faults.append(f"docs/security.md: no metric has the label {label}")


def check_daemonset():
    documents = {one["kind"]: one for one in yaml.safe_load_all(text("packaging/kubernetes/daemonset.yaml"))}
    expect("daemonset.yaml: its kinds", set(documents) == {"Namespace", "ServiceAccount", "DaemonSet"})
    names = {one["metadata"].get("namespace", one["metadata"]["name"]) for one in documents.values()}
    expect(f"daemonset.yaml: namespaces {names}", len(names) == 1)
    template = documents["DaemonSet"]["spec"]["template"]
    pod = template["spec"]
    container = pod["containers"][0]
    windows = pod["securityContext"]["windowsOptions"]
    expect("daemonset.yaml: no HostProcess container", windows["hostProcess"] is True and pod["hostNetwork"] is True)
    expect("daemonset.yaml: its account", windows["runAsUserName"] == "NT AUTHORITY\\SYSTEM")
    expect("daemonset.yaml: its nodes", pod["nodeSelector"] == {"kubernetes.io/os": "windows"})
    selector = documents["DaemonSet"]["spec"]["selector"]["matchLabels"]
    expect("daemonset.yaml: its selector", selector.items() <= template["metadata"]["labels"].items())
    expect("daemonset.yaml: its account of Kubernetes", pod["serviceAccountName"] == documents["ServiceAccount"]["metadata"]["name"])
    port = re.search(r"Default: :(\d+)", text("exporter/options.c"))[1]
    expect("daemonset.yaml: its port", f"--web.listen-address=:{port}" in container["args"] and
           {str(container["ports"][0][key]) for key in ("containerPort", "hostPort")} == {port})
    for probe, path in (("livenessProbe", "/-/healthy"), ("readinessProbe", "/-/ready")):
        expect(f"daemonset.yaml: {probe}", container[probe]["httpGet"]["path"] == path)
    # The mounted configuration is the one that the program reads.
    kustomization = yaml.safe_load(text("packaging/kubernetes/kustomization.yaml"))
    config = kustomization["configMapGenerator"][0]
    file = config["files"][0]
    mount = container["volumeMounts"][0]
    expect("daemonset.yaml: the configuration", f"--config.file=%CONTAINER_SANDBOX_MOUNT_POINT%{mount['mountPath']}/{file}" in container["args"]
           and pod["volumes"][0]["configMap"]["name"] == config["name"] and config["namespace"] in names and mount["name"] == pod["volumes"][0]["name"])
    expect("kustomization.yaml: its resources", kustomization["resources"] == ["daemonset.yaml"])
    keys = set(yaml.safe_load(text(f"packaging/kubernetes/{file}")))
    expect(f"daemonset.yaml: keys of the configuration {keys}", keys <= set(yaml.safe_load(text("config/etw_exporter.yaml"))))


# The example of a kustomization in the README, built where there is kubectl: what it names is changed, and nothing else.
def check_kustomization():
    folder, readme = ROOT / "packaging/kubernetes", text("packaging/kubernetes/README.md")
    files = dict(re.findall(r"```yaml\n# ((?:kustomization|etw_exporter)\.yaml)\n(.*?)```", readme.partition("## Values of your own")[2].partition("\n## ")[0], re.S))
    expect(f"kubernetes/README.md: files {sorted(files)}", len(files) == 2)
    if not shutil.which("kubectl"):
        print("no kubectl: the kustomizations were not built")
        return
    with tempfile.TemporaryDirectory() as work:
        shutil.copytree(folder, Path(work, "etw_exporter/packaging/kubernetes"))
        Path(work, "mine").mkdir()
        for name, content in files.items():
            Path(work, "mine", name).write_text(content, encoding="utf-8")
        built = [{one["kind"]: one for one in yaml.safe_load_all(subprocess.run(["kubectl", "kustomize", path], check=True, capture_output=True).stdout)}
                 for path in (folder, Path(work, "mine"))]
    base, mine = built
    for kinds in built:
        used = kinds["DaemonSet"]["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"]
        expect(f"kubernetes: the pods use {used}", used == kinds["ConfigMap"]["metadata"]["name"] and used.startswith("etw-exporter-"))
    expect("kubernetes/README.md: the configuration", mine["ConfigMap"]["data"] == {"etw_exporter.yaml": files["etw_exporter.yaml"]})
    expect("kubernetes/README.md: the namespace", mine["DaemonSet"]["metadata"]["namespace"] == yaml.safe_load(files["kustomization.yaml"])["namespace"])
    pods = [kinds["DaemonSet"]["spec"]["template"]["spec"] for kinds in built]
    changed = {key for key in pods[0] if pods[0][key] != pods[1][key]}
    expect(f"kubernetes/README.md: it changes {changed}", changed == {"containers", "nodeSelector", "volumes"})
    changed = {key for key in pods[0]["containers"][0] if pods[0]["containers"][0][key] != pods[1]["containers"][0][key]}
    expect(f"kubernetes/README.md: it changes {changed}", changed == {"image", "resources"})


# The PodMonitor chooses the pods of the DaemonSet, and gives them the job that the alerts look for.
def check_podmonitor():
    monitor = yaml.safe_load(text("packaging/kubernetes/podmonitor.yaml"))
    daemonset = next(one for one in yaml.safe_load_all(text("packaging/kubernetes/daemonset.yaml")) if one["kind"] == "DaemonSet")
    template = daemonset["spec"]["template"]
    endpoint = monitor["spec"]["podMetricsEndpoints"][0]
    expect("podmonitor.yaml: its namespace", monitor["metadata"]["namespace"] == daemonset["metadata"]["namespace"])
    expect("podmonitor.yaml: its selector", monitor["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items())
    expect("podmonitor.yaml: its port", endpoint["port"] in {port["name"] for port in template["spec"]["containers"][0]["ports"]})
    labels = {one["targetLabel"]: one.get("replacement") for one in endpoint["relabelings"]}
    expect(f"podmonitor.yaml: labels {labels}", f'job="{labels["job"]}"' in text("dashboards/prometheus/alerts.yml") and "instance" in labels)


def check_dockerfile():
    layout = text("cmake/install.cmake")
    for name in re.findall(r"COPY --from=programs (.*) /", text("packaging/kubernetes/Dockerfile")):
        for one in name.split():
            known = one == "licences" or one.removesuffix(".exe") in layout
            expect(f"Dockerfile: the archive has no {one}", known)


def check_addresses():
    for path in sorted((ROOT / "packaging").rglob("*")):
        if path.is_file():
            for host in re.findall(r"\b(?:https?://|image: |FROM )([a-z0-9.-]+\.[a-z]{2,})\b", path.read_text(encoding="utf-8")):
                expect(f"{path.relative_to(ROOT)}: the address {host}",
                       re.search(r"(^|\.)example\.(org|net|com)$|^schemas\.microsoft\.com$|^www\.debian\.org$|^aka\.ms$|^openvex\.dev$", host))


for check in (check_labels, check_daemonset, check_kustomization, check_podmonitor, check_dockerfile, check_addresses):
    check()
print("\n".join(faults) or "ok")
sys.exit(1 if faults else 0)
