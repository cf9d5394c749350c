// The browser test: opens the page, picks a process, and sees the figures of that process and no other; then follows a link.
//
// usage: select.mjs PROMETHEUS_URL FOLDER     FOLDER: where index.html is
import { dashboards } from '../check/dashboards.mjs';
import { ask } from '../check/queries.mjs';
import { openBrowser, openPage, showsDashboard } from './browser.mjs';
import { serve } from './serve.mjs';

const [, , base, folder] = process.argv;
const uid = 'etw-process-io', { json } = dashboards().find(({ json: one }) => one.uid === uid);
const panel = `[data-panel="${json.panels.find(({ title }) => title === 'Written to files by process').id}"]`;
const failed = [];

async function choosesProcess(page, name) {
	const legend = () => page.$$eval(`${panel} tbody tr`, rows => rows.map(row => row.innerText.split('\n')[0].trim()));
	const rates = () => page.$eval(panel, element => element.innerText);
	const all = await legend(), before = await rates();
	if (!all.includes(name)) failed.push(`the legend of all processes is ${all.join(', ')}, without ${name}`);

	await page.selectOption('[data-variable="process"]', name);
	await showsDashboard(page, uid, { process: name });
	const one = (await legend()).filter(shown => shown !== 'all others'), after = await rates();
	if (one.join() !== name) failed.push(`with ${name} chosen the legend is ${one.join(', ')}`);
	if (all.length > 1 && after === before) failed.push('the panel did not change');
}

// The link of a process leads to its page, and keeps the host.
async function followsLink(page, name) {
	const host = await page.$eval('[data-variable="instance"] option:last-child', option => option.value);
	await page.selectOption('[data-variable="instance"]', host);
	await showsDashboard(page, uid, { process: name, instance: host });
	const link = new URL(await page.$eval('[data-type="table"] a[href]', a => a.href)), chosen = { instance: host, process: name };
	if (link.pathname !== '/d/etw-process') failed.push(`the link of a process leads to ${link.pathname}`);
	for (const [variable, value] of Object.entries(chosen)) {
		if (link.searchParams.get(`var-${variable}`) !== value) failed.push(`the link of a process has not ${variable}=${value}: ${link.href}`);
	}
	await page.goto(link.href);
	await showsDashboard(page, 'etw-process', chosen);
}

const { result } = await ask(base, 'query', { query: 'topk(1, sum by (process) (increase(etw_file_written_bytes_total[1m]))) > 0' });
const busiest = result[0]?.metric.process;
if (busiest === undefined) {
	console.log('No program writes files in this recording, so there is no process to choose.');
} else {
	const server = await serve(folder), browser = await openBrowser(), page = await openPage(browser, 1600, failed);
	await page.goto(`${server.url}#${uid}`);
	await showsDashboard(page, uid);
	await choosesProcess(page, busiest);
	await followsLink(page, busiest);
	await browser.close();
	server.close();
}
if (failed.length) console.log(failed.join('\n'));
process.exitCode = failed.length ? 1 : 0;
