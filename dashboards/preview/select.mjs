// The browser test: opens the page, picks a process, and sees the figures of that process and no other.
//
// usage: select.mjs PROMETHEUS_URL FOLDER PROCESS     FOLDER: where index.html is
import { openBrowser, openPage, showsDashboard } from './browser.mjs';
import { serve } from './serve.mjs';

const [, , base, folder, process_] = process.argv;
const uid = 'etw-process-io', panel = '[data-panel="2"]'; // "Written to files"
const failed = [], server = await serve(folder), browser = await openBrowser();
const page = await openPage(browser, 1600, failed);
const legend = () => page.$$eval(`${panel} tbody tr`, rows => rows.map(row => row.innerText.split('\n')[0].trim()));
const rates = () => page.$eval(panel, element => element.innerText);

await page.goto(`${server.url}#${uid}`);
await showsDashboard(page, uid);
const all = await legend(), before = await rates();
if (!all.includes(process_) || all.length < 3) failed.push(`the legend of all processes is ${all.join(', ')}`);

await page.selectOption('[data-variable="process"]', process_);
await showsDashboard(page, uid, { process: process_ });
const one = (await legend()).filter(name => name !== 'all others'), after = await rates();
if (one.join() !== process_) failed.push(`with ${process_} chosen the legend is ${one.join(', ')}`);
if (after === before) failed.push('the panel did not change');

// It is there to be seen: Prometheus has writes of this process.
const answer = await (await fetch(`${base}/api/v1/query?${new URLSearchParams({ query: `sum(rate(etw_file_written_bytes_total{process="${process_}"}[1m])) > 0` })}`)).json();
if (!answer.data.result.length) failed.push(`Prometheus has no writes of ${process_}`);
await browser.close();
server.close();
if (failed.length) console.log(failed.join('\n'));
process.exitCode = failed.length ? 1 : 0;
