// The dashboards, recording rules and alerts as a monitoring mixin: `local etw = import 'etw_exporter/dashboards/mixin.libsonnet';`
//
// It imports the files that are also used without Jsonnet, so there is one source of each. The dashboards have a variable for their data
// source. tests/e2e/mixin.sh compares.
{
  grafanaDashboards+:: {
    'etw-disk.json': import 'grafana/etw-disk.json',
    'etw-dotnet.json': import 'grafana/etw-dotnet.json',
    'etw-fleet.json': import 'grafana/etw-fleet.json',
    'etw-health.json': import 'grafana/etw-health.json',
    'etw-host.json': import 'grafana/etw-host.json',
    'etw-network.json': import 'grafana/etw-network.json',
    'etw-process-io.json': import 'grafana/etw-process-io.json',
    'etw-process.json': import 'grafana/etw-process.json',
    'etw-scheduler.json': import 'grafana/etw-scheduler.json',
  },
  prometheusAlerts+:: std.parseYaml(importstr 'prometheus/alerts.yml'),
  prometheusRules+:: std.parseYaml(importstr 'prometheus/rules.yml'),
}
