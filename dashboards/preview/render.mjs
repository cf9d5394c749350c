// usage: render.mjs PROMETHEUS_URL FOLDER MINUTES SCRAPE_MS [END_MS]
//
// Writes index.html and, for every dashboard, UID-1600.png and UID-900.png. Prints what is wrong with them; ends with 1 if anything is.
import path from 'node:path';

import { dashboards } from '../check/dashboards.mjs';
import { faults, openBrowser, openPage, showsDashboard } from './browser.mjs';
import { makePage } from './page_file.mjs';
import { serve } from './serve.mjs';

const [, , base, folder, minutes, scrapeMs, end] = process.argv;
const failed = [];
const problems = await makePage(folder, { base, minutes: +minutes, scrapeMs: +scrapeMs, ...(end && { to: +end }) });
for (const { uid, panel, what, expr } of problems) {
	if (what !== 'no data') failed.push(`${uid} panel ${panel.id}: ${what}: ${expr}`);
}
const server = await serve(folder), browser = await openBrowser();
for (const width of [1600, 900]) {
	for (const { json: { uid } } of dashboards()) {
		const page = await openPage(browser, width, failed);
		await page.goto(`${server.url}#${uid}`);
		await showsDashboard(page, uid);
		failed.push(...(await faults(page)).map(fault => `${uid} ${fault}`));
		await page.screenshot({ path: path.join(folder, `${uid}-${width}.png`), fullPage: true });
		await page.close();
	}
}
await browser.close();
server.close();
if (failed.length) console.log(failed.join('\n'));
process.exitCode = failed.length ? 1 : 0;
