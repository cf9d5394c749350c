#!/usr/bin/env bash
# dashboards/mixin.libsonnet has every dashboard and both files of rules, as they are; the examples for agents are well-formed and scrape
# what the exporter serves. The agents themselves are not run.
. "${BASH_SOURCE%/*}/lib.bash"

dashboards=$SOURCE_DIR/dashboards
python3 - "$dashboards" <<'PYTHON' || fail "the examples for agents"
import re, sys, yaml
folder = sys.argv[1]
job = yaml.safe_load(open(f"{folder}/prometheus/scrape/one-host.yml"))["scrape_configs"][0]
collector = yaml.safe_load(open(f"{folder}/agents/otel-collector.yaml"))
own = collector["receivers"]["prometheus"]["config"]["scrape_configs"][0]
assert own["job_name"] == job["job_name"], own
port = job["static_configs"][0]["targets"][0].rsplit(":", 1)[1]
assert own["static_configs"][0]["targets"][0].endswith(":" + port), own
pipeline = collector["service"]["pipelines"]["metrics"]
for part in ("receivers", "processors", "exporters"):
    assert set(pipeline[part]) == set(collector[part]), part
alloy = re.sub(r"//.*|\"(?:\\.|[^\"\\])*\"", lambda match: match[0] if match[0][0] == '"' else "", open(f"{folder}/agents/alloy.alloy").read())
assert f':{port}"' in alloy and f'job_name        = "{job["job_name"]}"' in alloy
bare = re.sub(r"\"(?:\\.|[^\"\\])*\"", "", alloy)
for pair in ("{}", "[]", "()"):
    assert bare.count(pair[0]) == bare.count(pair[1]), pair
PYTHON

command -v jsonnet >/dev/null || skip "jsonnet is not installed: the mixin was not evaluated"
# std.parseYaml() of the C++ Jsonnet 0.18 fails on texts of several lines (that of Go, which the mixin tools use, does not): it gets a copy
# with one line each.
cp -r "$dashboards/grafana" "$dashboards/mixin.libsonnet" "$work/"
mkdir "$work/prometheus"
python3 - "$dashboards/prometheus" "$work/prometheus" <<'PYTHON'
import pathlib, sys, yaml
def one_line(value):
    if isinstance(value, dict):
        return {key: one_line(part) for key, part in value.items()}
    return [one_line(part) for part in value] if isinstance(value, list) else value.replace("\n", " ") if isinstance(value, str) else value
for name in ("alerts.yml", "rules.yml"):
    rules = one_line(yaml.safe_load(pathlib.Path(sys.argv[1], name).read_text()))
    pathlib.Path(sys.argv[2], name).write_text(yaml.safe_dump(rules, width=10000))
PYTHON
jsonnet -e "local mixin = import '$work/mixin.libsonnet';
	{ dashboards: mixin.grafanaDashboards, alerts: mixin.prometheusAlerts, rules: mixin.prometheusRules }" >"$work/mixin.json" 2>"$work/err" ||
	fail "jsonnet: $(head -5 "$work/err")"
python3 - "$dashboards/grafana" "$work/prometheus" "$work/mixin.json" <<'PYTHON' || fail "the mixin differs from the files"
import json, pathlib, sys, yaml
grafana, prometheus, mixin = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), json.load(open(sys.argv[3]))
files = {path.name: json.loads(path.read_text()) for path in grafana.glob("*.json")}
assert mixin["dashboards"].keys() == files.keys(), mixin["dashboards"].keys() ^ files.keys()
for name, dashboard in files.items():
    assert mixin["dashboards"][name] == dashboard, name
for name in ("alerts", "rules"):
    assert mixin[name] == yaml.safe_load((prometheus / f"{name}.yml").read_text()), name
PYTHON
