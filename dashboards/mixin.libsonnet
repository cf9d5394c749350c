// The dashboards, recording rules and alerts as a monitoring mixin:
//
//   local etw = (import 'etw_exporter/dashboards/mixin.libsonnet') { _config+:: { selector: 'job="windows-etw"', diskSlowSeconds: 1 } };
//
// It imports the files that are also used without Jsonnet, so there is one source of each. tests/e2e/mixin.sh compares.
local files = import 'prometheus/mixin.libsonnet';

{
  // Names, addresses and limits of rules and alerts: README.md has a table of them.
  _config:: files.config {
    // Tags of the dashboards.
    tags: ['etw_exporter'],
    // Whether the dashboards show their variable for the label cluster.
    showMultiCluster: false,
  },

  local config = self._config,
  local texts = { [key]: if std.isNumber(config[key]) then '%g' % config[key] else config[key] for key in std.objectFields(files.config) },
  local adapted(dashboard) = dashboard {
    tags: config.tags,
    templating+: { list: [if one.name == 'cluster' && config.showMultiCluster then one { hide: 0 } else one for one in super.list] },
  },

  grafanaDashboards+:: {
    'etw-disk.json': adapted(import 'grafana/etw-disk.json'),
    'etw-dotnet.json': adapted(import 'grafana/etw-dotnet.json'),
    'etw-fleet.json': adapted(import 'grafana/etw-fleet.json'),
    'etw-health.json': adapted(import 'grafana/etw-health.json'),
    'etw-host.json': adapted(import 'grafana/etw-host.json'),
    'etw-network.json': adapted(import 'grafana/etw-network.json'),
    'etw-process-io.json': adapted(import 'grafana/etw-process-io.json'),
    'etw-process.json': adapted(import 'grafana/etw-process.json'),
    'etw-scheduler.json': adapted(import 'grafana/etw-scheduler.json'),
  },
  prometheusAlerts+:: files.alerts(texts),
  prometheusRules+:: files.rules(texts),
}
