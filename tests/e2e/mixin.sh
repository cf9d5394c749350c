#!/usr/bin/env bash
# dashboards/mixin.libsonnet has every dashboard and both files of rules, as they are and as `_config` wants them; the examples for agents are well-formed and scrape
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
mixin() { # OBJECT OUT: the mixin, with this object added to it
	jsonnet -e "local mixin = (import '$dashboards/mixin.libsonnet') + $1;
		{ dashboards: mixin.grafanaDashboards, alerts: mixin.prometheusAlerts, rules: mixin.prometheusRules }" >"$2" 2>"$work/err" ||
		fail "jsonnet: $(head -5 "$work/err")"
}
mixin '{}' "$work/mixin.json"
python3 - "$dashboards/grafana" "$dashboards/prometheus" "$work/mixin.json" <<'PYTHON' || fail "the mixin differs from the files"
import json, pathlib, sys, yaml
grafana, prometheus, mixin = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), json.load(open(sys.argv[3]))
files = {path.name: json.loads(path.read_text()) for path in grafana.glob("*.json")}
assert mixin["dashboards"].keys() == files.keys(), mixin["dashboards"].keys() ^ files.keys()
for name, dashboard in files.items():
    assert mixin["dashboards"][name] == dashboard, name
for name in ("alerts", "rules"):
    assert mixin[name] == yaml.safe_load((prometheus / f"{name}.yml").read_text()), name
PYTHON

# Names, limits and addresses of another installation.
mixin "{ _config+:: { selector: 'job=~\"windows-.*\"', labels: 'site, job, instance', diskSlowSeconds: 2, runbookBase: 'https://wiki.example.net/etw',
	grafanaUrl: 'https://grafana.example.net', tags: ['windows'], showMultiCluster: true } }" "$work/other.json"
python3 - "$work/mixin.json" "$work/other.json" <<'PYTHON' || fail "the mixin does not follow _config"
import json, re, sys
shipped, other = (json.load(open(path)) for path in sys.argv[1:])
alerts = {rule["alert"]: rule for group in other["alerts"]["groups"] for rule in group["rules"]}
assert alerts["EtwTargetDown"]["expr"] == 'up{job=~"windows-.*"} == 0', alerts["EtwTargetDown"]
assert alerts["EtwDiskSlow"]["expr"].endswith("> 2"), alerts["EtwDiskSlow"]
assert all(alert["annotations"]["runbook_url"] == f"https://wiki.example.net/etw#{name.lower()}" for name, alert in alerts.items())
assert all(alert["annotations"]["dashboard"].startswith("https://grafana.example.net/d/etw-") for alert in alerts.values())
rules = json.dumps(other["rules"])
assert "by (site, job, instance" in rules and "cluster" not in rules
for name, dashboard in other["dashboards"].items():
    assert dashboard["tags"] == ["windows"], name
    assert [one["hide"] for one in dashboard["templating"]["list"] if one["name"] == "cluster"] == [0], name
    assert [one["hide"] for one in shipped["dashboards"][name]["templating"]["list"] if one["name"] == "cluster"] == [2], name
left = re.findall(r"<(?!=)[a-zA-Z0-9]+>", json.dumps([other["rules"], other["alerts"]]))
assert not left, left
PYTHON
