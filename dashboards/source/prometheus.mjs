// The groups of rules and alerts as Prometheus reads them, still with <keys> of config.mjs, and the texts that are made of them.
import { alerts } from './alerts.mjs';
import { config, fill } from './config.mjs';
import { panelsOf } from './external.mjs';
import { rules } from './rules.mjs';

// A panel's address in Grafana. Labels of alerts are escaped by the template.
function panelUrl([uid, title, ...variables], dashboards) {
	const panel = panelsOf(dashboards.find(one => one.uid === uid).panels).find(one => one.title === title);
	if (!panel) throw new Error(`${uid} has no panel "${title}"`);
	const chosen = ['instance', ...variables].filter(name => !(uid === 'etw-fleet' && name === 'instance'));
	return `<grafanaUrl>/d/${uid}?viewPanel=${panel.id}${chosen.map(name => `&var-${name}={{ $labels.${name} | urlquery }}`).join('')}`;
}

// { groups } of rules.yml and of alerts.yml.
const recordingRules = { groups: rules.map(({ name, rules: list }) => ({ name, interval: '1m', rules: list.map(({ record, expr }) => ({ record, expr })) })) };
const alertingRules = dashboards => ({
	groups: alerts.map(({ name, alerts: list }) => ({
		name,
		rules: list.map(({ alert, expr, for: time, keep, severity, summary, description, runbook, recording, panel }) => ({
			alert, expr, ...(time && { for: time }), ...(keep && { keep_firing_for: keep }), labels: { severity },
			annotations: { summary, description, runbook, runbook_url: `<runbookBase>#${alert.toLowerCase()}`, dashboard: panelUrl(panel, dashboards), ...(recording && { recording }) },
		})),
	})),
});

const indented = (text, by) => text.split('\n').map(line => ' '.repeat(by) + line).join('\n');
const scalar = (text, by) => (text.includes('\n') ? `|-\n${indented(text, by + 2)}` : /^[\w (](?:[^:#'"{}[\]]|:(?! |$))*$/.test(text) ? text : `'${text.replaceAll('\'', '\'\'')}'`);
const field = (by, [key, value]) => (typeof value === 'object' ? `${' '.repeat(by)}${key}:\n${Object.entries(value).map(one => field(by + 2, one)).join('')}` : `${' '.repeat(by)}${key}: ${scalar(value, by)}\n`);
const rule = one => Object.entries(one).map(one => field(8, one)).join('').replace(/^ {8}/, '      - ');
const yaml = ({ groups }, comments) => `groups:\n${groups.map(({ name, interval, rules: list }) =>
	`${comments[name] ? `  # ${comments[name]}\n` : ''}  - name: ${name}\n${interval ? `    interval: ${interval}\n` : ''}    rules:\n${list.map(rule).join('')}`).join('')}`;

const commentOf = Object.fromEntries(rules.map(({ name, comment }) => [name, comment]));
export const rulesYaml = () => `# Recording rules of etw_exporter, for Prometheus 2.40 and later. Made by dashboards/source/build.mjs, from rules.mjs beside it.
#
# What a series began with: rate() and increase() see a counter's growth between two scrapes, so they miss the first value of a
# series that appears, and with it all that a program wrote which ran for less than a scrape interval. Each rule here therefore
# takes a new series (there now, absent 5 minutes ago, while the exporter was there already) at its whole value, and any other by
# increase(). \`up offset 5m\` keeps a restart of Prometheus, or a new host, from counting old totals as new.
#
# Pipes and mail slots are no files, although programs write to them with the same requests: the rules of files leave them out.
#
# Names: level:metric:operation. Divide an increase5m by 300 for a rate. The label cluster stays where targets have it.
${yaml(fill(recordingRules), commentOf)}`;
export const alertsYaml = dashboards => `# Alerts of etw_exporter, for Prometheus 2.42 and later. They use the recording rules of rules.yml: load both.
# Made by dashboards/source/build.mjs, from alerts.mjs beside it.
#
# \`severity\` is critical where figures of a host are missing or wrong, warning what needs a look today, info what is worth knowing.
# Limits, the name of the job and the addresses of runbooks and of Grafana: change them here, or in \`_config\` of ../mixin.libsonnet.
# Each alert is tested in alerts_test.yml.
${yaml(fill(alertingRules(dashboards)), {})}`;

// ---- Jsonnet ----

// A string with <keys> becomes a sum: "up{" + c.selector + "} == 0".
const expression = value => {
	if (typeof value === 'string') return value.split(/<(\w+)>/).map((part, i) => (i % 2 ? `c.${part}` : JSON.stringify(part))).filter(part => part !== '""').join(' + ') || '""';
	if (Array.isArray(value)) return `[\n${value.map(one => `${expression(one)},\n`).join('')}]`;
	return `{\n${Object.entries(value).map(([key, part]) => `"${key}": ${expression(part)},\n`).join('')}}`;
};
export const jsonnet = dashboards => `// Made by dashboards/source/build.mjs for ../mixin.libsonnet: the shipped values of its _config, and rules and alerts for values c.
{
config:: ${JSON.stringify(config, null, 2)},
rules(c):: ${expression(recordingRules)},
alerts(c):: ${expression(alertingRules(dashboards))},
}
`;

// ---- Markdown ----

const all = fill(alerts.flatMap(({ alerts: list }) => list));
const cell = text => text.replaceAll('|', '\\|');
export const alertTable = () => `| alert | severity | fires when | waits | stays for |\n| --- | --- | --- | --- | --- |\n${all.map(one =>
	`| [${one.alert}](../docs/runbooks.md#${one.alert.toLowerCase()}) | ${one.severity} | ${cell(one.when)} | ${one.for ?? '–'} | ${one.keep ?? '–'} |`).join('\n')}`;
export const ruleTable = () => `| rule | what it has |\n| --- | --- |\n${rules.flatMap(group => group.rules).map(({ record, what }) => `| \`${record}\` | ${what} |`).join('\n')}`;
export const configTable = () => `| key | value |\n| --- | --- |\n${Object.entries(config).map(([key, value]) => `| \`${key}\` | \`${value}\` |`).join('\n')}`;

const plain = text => text.replace(/\{\{ \$value[^}]*\}\}/g, 'N');
export const runbooks = () => `# Runbooks of the alerts

What each alert of [\`dashboards/prometheus/alerts.yml\`](../dashboards/prometheus/alerts.yml) means and what to do. The annotation
\`runbook_url\` of an alert leads here, \`dashboard\` to the panel that shows it. Limits are those of the shipped file.

This page is made by \`dashboards/source/build.mjs\`, from \`alerts.mjs\` beside it.
${all.map(one => `
## ${one.alert}

| | |
| --- | --- |
| fires when | ${cell(one.when)}${one.for ? `, for ${one.for}` : ''}${one.keep ? `; it stays for ${one.keep} after that` : ''} |
| severity | ${one.severity} |
| what it means | ${cell(plain(one.description))} |
| what to do | ${cell(one.runbook)} |

\`\`\`promql
${one.expr}
\`\`\`
`).join('')}`;
