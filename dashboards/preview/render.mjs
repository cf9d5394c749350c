// usage: render.mjs PROMETHEUS_URL FOLDER MINUTES SCRAPE_MS THEMES [END_MS]     THEMES: dark, light or dark,light
//
// Writes index.html and, for every dashboard, UID-1600.png and UID-900.png, in the light theme UID-1600-light.png and UID-900-light.png.
// Prints what is wrong with them; ends with 1 if anything is.
import path from 'node:path';

import { dashboards } from '../check/dashboards.mjs';
import { faults, openBrowser, openPage, showsDashboard } from './browser.mjs';
import { makePage } from './page_file.mjs';
import { serve } from './serve.mjs';

const [, , base, folder, minutes, scrapeMs, themes, to] = process.argv;
const failed = [];
let drawn = 0;
const problems = await makePage(folder, { base, minutes: +minutes, scrapeMs: +scrapeMs, ...(to && { to: +to }) });
for (const { uid, panel, what, expr } of problems) {
	if (what !== 'no data') failed.push(`${uid} panel ${panel.id}: ${what}: ${expr}`);
}
const server = await serve(folder), browser = await openBrowser();
for (const theme of themes.split(',')) {
	const end = theme === 'dark' ? '' : `-${theme}`;
	for (const width of [1600, 900]) {
		for (const { json: { uid } } of dashboards()) {
			const page = await openPage(browser, width, failed);
			try {
				await page.goto(`${server.url}?theme=${theme}#${uid}`);
				await showsDashboard(page, uid);
				failed.push(...(await faults(page)).map(fault => `${uid} ${fault}`));
				await page.screenshot({ path: path.join(folder, `${uid}-${width}${end}.png`), fullPage: true });
				drawn++;
			} catch (error) {
				failed.push(`${uid}, ${width} px, ${theme}: no picture: ${error.message}`);
			}
			await page.close();
		}
	}
}
await browser.close();
server.close();
console.log(`${drawn} pictures and index.html are in ${folder}.`);
if (failed.length) console.log(failed.join('\n'));
process.exitCode = failed.length ? 1 : 0;
